// Builds machines from synthetic descriptions.
#include "topo/synthetic.h"

#include <cerrno>
#include <cstring>

namespace roost {
namespace {

enum Kind { kPackage, kNode, kCore, kPu, kCacheL1, kCacheL5 = kCacheL1 + 4, kKinds };

struct Name {
  const char* text;
  Kind kind;
};
constexpr Name kNames[] = {
    {"pack", kPackage}, {"package", kPackage}, {"socket", kPackage}, {"node", kNode},
    {"numa", kNode},    {"numanode", kNode},   {"core", kCore},      {"pu", kPu},
};

using Word = Text<32>;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool find_kind(const char* text, Kind& kind) {
  for (const Name& name : kNames) {
    if (std::strcmp(text, name.text) == 0) {
      kind = name.kind;
      return true;
    }
  }
  bool cache = text[0] == 'l' && text[1] >= '1' && text[1] <= '5' && text[2] == 0;
  if (cache) kind = static_cast<Kind>(kCacheL1 + (text[1] - '1'));
  return cache;
}

// What a description says: how many PUs there are, and how many each element of a kind has.
struct Shape {
  unsigned total = 1;
  bool given[kKinds] = {};
  unsigned elements[kKinds] = {};  // in the whole machine
};

// Reads "type:count" and moves `at` behind it.
int parse_level(const char*& at, Shape& shape, ErrorText& error) {
  Word word;
  const char* start = at;
  while (*at && *at != ' ' && *at != ':') word << lower(*at++);
  Kind kind;
  if (word.cut() || !find_kind(word.c_str(), kind)) {
    error << "'" << word.c_str()
          << "' is no level of a machine; levels are pack, node, l1 to l5, core and pu";
    return -EINVAL;
  }
  unsigned count = 0;
  bool counted = *at == ':' && at[1] >= '0' && at[1] <= '9';
  if (counted) {
    for (++at; *at >= '0' && *at <= '9' && count <= kMaxCores; ++at) {
      count = count * 10 + static_cast<unsigned>(*at - '0');
    }
  }
  if (!counted || (*at && *at != ' ' && count <= kMaxCores)) {
    error << "'";
    for (int i = 0; i < 32 && start[i] && start[i] != ' '; ++i) error << start[i];
    error << "' lacks its number: write " << word.c_str() << ":2";
    return -EINVAL;
  }
  if (count == 0 || shape.total * count > kMaxCores) {
    error << "a machine has 1 to " << kMaxCores << " PUs, and '" << word.c_str()
          << "' would make it ";
    if (count == 0) {
      error << "0";
    } else {
      error << "more";
    }
    return -EINVAL;
  }
  if (shape.given[kPu] || shape.given[kind]) {
    error << "'" << word.c_str() << "' stands ";
    error << (shape.given[kind] ? "twice; each level may stand once"
                                : "behind pu, which must be the last level");
    return -EINVAL;
  }
  shape.total *= count;
  shape.given[kind] = true;
  shape.elements[kind] = shape.total;
  return 0;
}

// Elements are named by their first PU, as a described machine's are.
std::uint16_t element_of(const Shape& shape, Kind kind, unsigned pu) {
  if (!shape.given[kind]) return kUnknownGroup;
  unsigned size = shape.total / shape.elements[kind];
  return static_cast<std::uint16_t>(pu / size * size);
}

Kind last_level_cache(const Shape& shape) {
  int kind = kCacheL5;
  while (kind > kCacheL1 && !shape.given[kind]) --kind;
  return static_cast<Kind>(kind);
}

}  // namespace

int machine_from_synthetic(const char* description, Machine& machine, ErrorText& error) {
  Shape shape;
  error.clear();
  for (const char* at = description;;) {
    while (*at == ' ') ++at;
    if (!*at) break;
    if (int failed = parse_level(at, shape, error)) return failed;
  }
  unsigned nodes = shape.given[kNode] ? shape.elements[kNode] : 1;
  if (!shape.given[kPu]) {
    error << "the last level must be pu, as in \"node:2 core:4 pu:1\"";
    return -EINVAL;
  }
  if (nodes > kMaxNodes) {
    error << "a machine has at most " << kMaxNodes << " NUMA nodes, not " << nodes;
    return -EINVAL;
  }
  machine = Machine{};
  machine.n_cores = static_cast<std::uint16_t>(shape.total);
  for (unsigned pu = 0; pu < shape.total; ++pu) {
    unsigned node = pu / (shape.total / nodes);
    machine.cores[pu] = {static_cast<std::uint16_t>(pu), static_cast<std::uint16_t>(node),
                         element_of(shape, kPackage, pu),
                         element_of(shape, last_level_cache(shape), pu),
                         element_of(shape, kCore, pu)};
    machine.os_node[node] = static_cast<std::uint16_t>(node);
  }
  machine_flat_distances(machine, nodes);
  machine_arrange(machine);
  return 0;
}

}  // namespace roost

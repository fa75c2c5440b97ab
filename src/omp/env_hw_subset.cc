// The text of KMP_HW_SUBSET.
#include <utility>

#include "omp/env_cursor.h"
#include "omp/env_parse.h"

namespace roost::omp::parse {
namespace {

// From the largest kind to the smallest.
constexpr PlaceKind kLargestFirst[] = {
    PlaceKind::sockets,   PlaceKind::dies,  PlaceKind::numa_domains, PlaceKind::ll_caches,
    PlaceKind::l2_caches, PlaceKind::cores, PlaceKind::threads};
int rank(PlaceKind kind) {
  int found = 0;
  while (kLargestFirst[found] != kind) ++found;
  return found;
}

bool kind_of(Cursor& cursor, PlaceKind& found) {
  constexpr struct {
    const char* name;
    PlaceKind kind;
  } kNames[] = {{"s", PlaceKind::sockets},
                {"socket", PlaceKind::sockets},
                {"sockets", PlaceKind::sockets},
                {"d", PlaceKind::dies},
                {"die", PlaceKind::dies},
                {"dies", PlaceKind::dies},
                {"n", PlaceKind::numa_domains},
                {"numa", PlaceKind::numa_domains},
                {"numas", PlaceKind::numa_domains},
                {"numa_domain", PlaceKind::numa_domains},
                {"numa_domains", PlaceKind::numa_domains},
                {"ll_cache", PlaceKind::ll_caches},
                {"ll_caches", PlaceKind::ll_caches},
                {"l3", PlaceKind::ll_caches},
                {"l3_cache", PlaceKind::ll_caches},
                {"l3_caches", PlaceKind::ll_caches},
                {"l2", PlaceKind::l2_caches},
                {"l2_cache", PlaceKind::l2_caches},
                {"l2_caches", PlaceKind::l2_caches},
                {"tile", PlaceKind::l2_caches},
                {"tiles", PlaceKind::l2_caches},
                {"c", PlaceKind::cores},
                {"core", PlaceKind::cores},
                {"cores", PlaceKind::cores},
                {"t", PlaceKind::threads},
                {"thread", PlaceKind::threads},
                {"threads", PlaceKind::threads}};
  const auto* known = cursor.one_of(kNames);
  if (known) found = known->kind;
  return known;
}

bool small(std::int64_t number, std::int64_t least) { return number >= least && number <= 0xffff; }

bool layer(Cursor& cursor, SubsetLayer& found) {
  std::int64_t count = 0;
  std::int64_t offset = 0;
  if (cursor.number(count)) {
    if (!small(count, 1)) return false;
  } else {
    cursor.letter('*');
  }
  if (!kind_of(cursor, found.kind)) return false;
  if (cursor.letter('@') && !(cursor.number(offset) && small(offset, 0))) return false;
  found.count = static_cast<unsigned>(count);
  found.offset = static_cast<unsigned>(offset);
  return true;
}

}  // namespace

bool hw_subset(const char* text, HwSubset& value) {
  Cursor cursor(text);
  HwSubset found = {};
  found.absolute = cursor.letter(':');
  do {
    if (found.n == HwSubset::kMost || !layer(cursor, found.layers[found.n])) return false;
    for (int i = found.n++; i > 0; --i) {
      int larger = rank(found.layers[i - 1].kind);
      int own = rank(found.layers[i].kind);
      if (larger == own) return false;
      if (larger > own) std::swap(found.layers[i - 1], found.layers[i]);
    }
  } while (cursor.letter(','));
  if (!cursor.ended()) return false;
  value = found;
  return true;
}

}  // namespace roost::omp::parse

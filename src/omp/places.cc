// The places of OMP_PLACES, from its text and what sysfs says of the machine.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/text.h"
#include "omp/affinity.h"
#include "omp/env_parse.h"
#include "ult/host.h"
#include "ult/kernel.h"
#include "ult/memory.h"

namespace roost::omp {
namespace {

constexpr unsigned kMaxCpus = 8192;

struct CpuSet {
  std::uint64_t words[kMaxCpus / 64] = {};

  CpuSet& operator|=(const CpuSet& other) {
    for (unsigned i = 0; i < kMaxCpus / 64; ++i) words[i] |= other.words[i];
    return *this;
  }
  CpuSet& operator&=(const CpuSet& other) {
    for (unsigned i = 0; i < kMaxCpus / 64; ++i) words[i] &= other.words[i];
    return *this;
  }
  void remove(const CpuSet& other) {
    for (unsigned i = 0; i < kMaxCpus / 64; ++i) words[i] &= ~other.words[i];
  }
  unsigned count() const {
    unsigned count = 0;
    for (std::uint64_t word : words) count += static_cast<unsigned>(__builtin_popcountll(word));
    return count;
  }
};

// Written once, before the environment counts as read.
constinit parse::PlaceTable table;
constinit CpuSet subset = {};
constinit unsigned subset_size = 0;  // 0: there is none

bool contains(const CpuSet& set, unsigned cpu) {
  return cpu < kMaxCpus && (set.words[cpu / 64] >> cpu % 64 & 1);
}
void insert(void* set, unsigned cpu) {
  if (cpu < kMaxCpus) static_cast<CpuSet*>(set)->words[cpu / 64] |= std::uint64_t{1} << cpu % 64;
}

bool make_room(parse::PlaceTable& places) {
  constexpr unsigned kRoom = 2 * kMaxCpus;
  places.cpus = ult::permanent_array<std::uint16_t>(kRoom);
  places.begins = ult::permanent_array<std::uint32_t>(kMaxCpus + 1);
  places.cpus_room = kRoom;
  places.room = kMaxCpus;
  places.count = 0;
  return places.cpus && places.begins;
}

// The CPUs a file of sysfs lists. False if there is no such file.
bool read_cpu_list(const char* path, CpuSet& set) {
  ult::kernel::KeepErrno keep;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[4096];
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = 0;
  parse::cpu_list(text, insert, &set);
  return true;
}

// The CPUs that share with `cpu` what the places are.
bool siblings(parse::PlaceKind kind, unsigned cpu, CpuSet& set) {
  if (kind == parse::PlaceKind::numa_domains) {
    constexpr unsigned kMaxNodes = 1024;
    for (unsigned node = 0; node < kMaxNodes; ++node) {
      PathText path("/sys/devices/system/node/node");
      path << node << "/cpulist";
      CpuSet of_node = {};
      if (!read_cpu_list(path.c_str(), of_node) || !contains(of_node, cpu)) continue;
      set |= of_node;
      return true;
    }
    return false;
  }
  const char* leaf = kind == parse::PlaceKind::cores       ? "/topology/thread_siblings_list"
                     : kind == parse::PlaceKind::sockets   ? "/topology/core_siblings_list"
                     : kind == parse::PlaceKind::dies      ? "/topology/die_cpus_list"
                     : kind == parse::PlaceKind::l2_caches ? "/cache/index2/shared_cpu_list"
                                                           : "/cache/index3/shared_cpu_list";
  PathText path("/sys/devices/system/cpu/cpu");
  path << cpu << leaf;
  return read_cpu_list(path.c_str(), set);
}

// The CPUs of `among` in the unit that `cpu` is in. A machine that does not say (a container
// without sysfs): each CPU is a unit.
CpuSet unit_of(parse::PlaceKind kind, unsigned cpu, const CpuSet& among) {
  CpuSet unit;
  if (kind != parse::PlaceKind::threads) siblings(kind, cpu, unit);
  insert(&unit, cpu);
  return unit &= among;
}

// Calls each(unit) for each of the units in `among`, by their first CPUs, until it says false.
template <class Each>
bool for_units(parse::PlaceKind kind, const CpuSet& among, Each&& each) {
  CpuSet left = among;
  for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!contains(left, cpu)) continue;
    CpuSet unit = unit_of(kind, cpu, left);
    if (!each(unit)) return false;
    left.remove(unit);
  }
  return true;
}

// One place for each group of siblings, of the CPUs we may use.
bool define_by_kind(parse::PlaceKind kind, unsigned wanted, const CpuSet& usable) {
  bool room = for_units(kind, usable, [&](const CpuSet& unit) {
    if (wanted && table.count == wanted) return true;
    unsigned open = 0;
    for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu)
      if (contains(unit, cpu) && !table.add(cpu, open)) return false;
    return table.close(open);
  });
  return room && table.count > 0;
}

// Leaves those units of the layer in `set` that it is to keep, in each unit of `within` (listed:
// among all). False if there are fewer than it asks for.
bool keep_layer(const parse::SubsetLayer& layer, parse::PlaceKind within, CpuSet& set) {
  CpuSet kept = {};
  auto keep = [&](const CpuSet& around) {
    unsigned index = 0;
    for_units(layer.kind, around, [&](const CpuSet& unit) {
      bool wanted = index >= layer.offset && (!layer.count || index - layer.offset < layer.count);
      ++index;
      if (wanted) kept |= unit;
      return true;
    });
    return index >= layer.offset + (layer.count ? layer.count : 1);
  };
  bool enough = within == parse::PlaceKind::listed ? keep(set) : for_units(within, set, keep);
  set = kept;
  return enough;
}

// Leaves out CPUs that the process may not use, and places that have no others.
void keep_usable(const CpuSet& usable) {
  unsigned places = 0, end = 0;
  for (unsigned place = 0; place < table.count; ++place) {
    unsigned from = table.begins[place], to = table.begins[place + 1], begin = end;
    for (unsigned i = from; i < to; ++i)
      if (contains(usable, table.cpus[i])) table.cpus[end++] = table.cpus[i];
    if (end > begin) table.begins[places++] = begin;
  }
  if (places) table.begins[places] = end;
  table.count = places;
}

}  // namespace

unsigned usable_cpus(void (*add)(void* argument, unsigned cpu), void* argument) {
  CpuSet mask = {};
  ult::kernel::KeepErrno keep;
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask);
  unsigned count = 0;
  for (unsigned cpu = 0; bytes > 0 && cpu < kMaxCpus; ++cpu) {
    if (!contains(mask, cpu) || (subset_size && !contains(subset, cpu))) continue;
    ++count;
    if (add) add(argument, cpu);
  }
  return count;
}

bool define_hw_subset(const char* text) {
  parse::HwSubset wanted;
  if (!parse::hw_subset(text, wanted)) return false;
  CpuSet set = {};
  usable_cpus(insert, &set);
  auto within = parse::PlaceKind::listed;
  for (int i = 0; i < wanted.n; ++i) {
    const parse::SubsetLayer& layer = wanted.layers[i];
    if (layer.kind == parse::PlaceKind::threads) {
      within = parse::PlaceKind::cores;
    } else if (i == 0 && layer.kind != parse::PlaceKind::sockets) {
      within = parse::PlaceKind::sockets;
    }
    if (!keep_layer(layer, wanted.absolute ? parse::PlaceKind::listed : within, set)) return false;
    within = layer.kind;
  }
  subset = set;
  subset_size = set.count();
  return true;
}

unsigned usable_cores() {
  unsigned cores = ult::host::cores();
  return subset_size && subset_size < cores ? subset_size : cores;
}

bool define_places(const char* text) {
  parse::PlaceKind kind = parse::PlaceKind::threads;
  unsigned wanted = 0;
  if (!make_room(table) || !parse::places(text, kind, wanted, table)) {
    table.count = 0;
    return false;
  }
  CpuSet usable = {};
  usable_cpus(insert, &usable);
  if (kind == parse::PlaceKind::listed) {
    keep_usable(usable);
    return table.count > 0;
  }
  return define_by_kind(kind, wanted, usable);
}

void forget_places() { table.count = 0; }

unsigned place_count() { return table.count; }

unsigned place_cpus(unsigned place, const std::uint16_t*& cpus) {
  cpus = table.cpus + table.begins[place];
  return table.begins[place + 1] - table.begins[place];
}

}  // namespace roost::omp

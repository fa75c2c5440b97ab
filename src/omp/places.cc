// The places of OMP_PLACES, from its text and what sysfs says of the machine.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/text.h"
#include "omp/affinity.h"
#include "omp/env_parse.h"
#include "ult/kernel.h"
#include "ult/memory.h"

namespace roost::omp {
namespace {

constexpr unsigned kMaxCpus = 8192;
using CpuSet = std::uint64_t[kMaxCpus / 64];

// Written once, before the environment counts as read.
constinit parse::PlaceTable table;

bool contains(const CpuSet& set, unsigned cpu) {
  return cpu < kMaxCpus && (set[cpu / 64] >> cpu % 64 & 1);
}
void insert(void* set, unsigned cpu) {
  if (cpu < kMaxCpus) (*static_cast<CpuSet*>(set))[cpu / 64] |= std::uint64_t{1} << cpu % 64;
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
      for (unsigned i = 0; i < kMaxCpus / 64; ++i) set[i] |= of_node[i];
      return true;
    }
    return false;
  }
  const char* leaf = kind == parse::PlaceKind::cores     ? "/topology/thread_siblings_list"
                     : kind == parse::PlaceKind::sockets ? "/topology/core_siblings_list"
                                                         : "/cache/index3/shared_cpu_list";
  PathText path("/sys/devices/system/cpu/cpu");
  path << cpu << leaf;
  return read_cpu_list(path.c_str(), set);
}

// One place for each group of siblings, of the CPUs we may use.
bool define_by_kind(parse::PlaceKind kind, unsigned wanted, const CpuSet& usable) {
  CpuSet done = {};
  for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!contains(usable, cpu) || contains(done, cpu)) continue;
    if (wanted && table.count == wanted) break;
    CpuSet group = {};
    insert(&group, cpu);
    // A machine that does not say (a container without sysfs): each CPU is a place.
    if (kind != parse::PlaceKind::threads) siblings(kind, cpu, group);
    unsigned open = 0;
    for (unsigned other = cpu; other < kMaxCpus; ++other) {
      if (!contains(group, other) || !contains(usable, other) || contains(done, other)) continue;
      if (!table.add(other, open)) return false;
      insert(&done, other);
    }
    if (!table.close(open)) return false;
  }
  return table.count > 0;
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
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  unsigned count = 0;
  for (unsigned cpu = 0; bytes > 0 && cpu < kMaxCpus; ++cpu) {
    if (!contains(mask, cpu)) continue;
    ++count;
    if (add) add(argument, cpu);
  }
  return count;
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

int place_of_caller() {
  if (!table.count) return -1;
  int cpu = sched_getcpu();
  for (unsigned place = 0; place < table.count; ++place) {
    const std::uint16_t* cpus = nullptr;
    unsigned count = place_cpus(place, cpus);
    for (unsigned i = 0; i < count; ++i)
      if (cpus[i] == cpu) return static_cast<int>(place);
  }
  return -1;
}

}  // namespace roost::omp

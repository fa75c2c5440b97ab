// Values of OpenMP's environment variables (OpenMP 5.2, chapter 21), as pure functions of their
// text.
//
// White space around a value and its parts is allowed, letters may be of either case. Each function
// says whether the whole text is a value; if not, what it was to fill keeps what it had.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/icv.h"

namespace roost::omp::parse {

bool integer(const char* text, std::int64_t low, std::int64_t high, std::int64_t& value);
// true, yes, on, 1 and their opposites.
bool boolean(const char* text, bool& value);
// A size with B, K, M, G or T behind it; without a letter it counts `unit` bytes.
bool bytes(const char* text, std::size_t unit, std::size_t& value);
// Milliseconds, or a number with us, ms or s behind it, or "infinite": in ns.
bool duration(const char* text, std::int64_t& nanoseconds);

// GOMP_SPINCOUNT: a number, perhaps with k, M, G or T behind it, or "infinite".
bool turns(const char* text, std::int64_t& value);

// OMP_NUM_THREADS: positive numbers, separated by commas. Those after the `room`-th are ignored.
bool counts(const char* text, std::int32_t* values, int room, int& count);
// OMP_PROC_BIND: true, false, or a list of primary (master), close and spread.
bool binds(const char* text, Bind* values, int room, int& count);

struct ScheduleValue {
  Schedule kind = Schedule::static_;
  bool monotonic = false;
  bool trapezoidal = false;
  std::int64_t chunk = 0;
};
// OMP_SCHEDULE: [monotonic:|nonmonotonic:]kind[,chunk]. Of LLVM's own kinds, trapezoidal is guided
// here and static_steal dynamic.
bool schedule(const char* text, ScheduleValue& value);

// One word of several, separated by null bytes and ended by two; its index.
bool word(const char* text, const char* words, int& index);

// OMP_ALLOCATOR: the name of an allocator, or of a memory space with traits.
struct Trait {
  int key = 0;  // omp_alloctrait_key_t; what is laid out behind it is as in omp_alloctrait_t
  std::uintptr_t value = 0;
};
inline constexpr int kMaxTraits = 8;
struct AllocatorValue {
  std::uintptr_t allocator = 0;  // predefined; 0: a space with traits
  std::uintptr_t space = 0;
  Trait traits[kMaxTraits];
  int n_traits = 0;
};
bool allocator(const char* text, AllocatorValue& value);

// OMP_PLACES. What it names: threads, cores, ... of the machine, with the number wanted (0: all),
// or the places themselves.
enum class PlaceKind : std::uint8_t {
  listed,
  threads,
  cores,
  ll_caches,
  numa_domains,
  sockets,
  l2_caches,  // these two in subsets only
  dies
};
// CPUs of all places one after the other; place i has those from begins[i] to begins[i + 1].
struct PlaceTable {
  std::uint16_t* cpus = nullptr;
  unsigned cpus_room = 0;
  std::uint32_t* begins = nullptr;  // room + 1 of them
  unsigned room = 0;
  unsigned count = 0;

  unsigned end() const { return count ? begins[count] : 0; }
  // Adds a CPU to the place after the last, which close() completes. False if there is no room.
  bool add(unsigned cpu, unsigned& open);
  bool close(unsigned& open);
};
bool places(const char* text, PlaceKind& kind, unsigned& wanted, PlaceTable& table);
// The name of the places that a malformed text begins with; cores if it begins with none (libomp
// takes these then).
const char* nearest_places(const char* text);

// KMP_HW_SUBSET: how many of each kind to use, each counted within the next larger one that is
// named (cores within sockets where none is, threads within cores), or, with a colon in front,
// among all there are: "2s,8c@2,1t" are threads 0 of cores 2 to 9 of sockets 0 and 1.
struct SubsetLayer {
  PlaceKind kind;
  unsigned count;  // 0: all
  unsigned offset;
};
struct HwSubset {
  static constexpr int kMost = 7;
  SubsetLayer layers[kMost];  // from the largest to the smallest kind
  int n = 0;
  bool absolute = false;
};
bool hw_subset(const char* text, HwSubset& value);
// Hints of other runtimes, which need only be right. GOMP_CPU_AFFINITY: CPUs, ranges of them, and
// ranges with a stride, as in "0 3 1-2 4-15:2". KMP_AFFINITY: modifiers and a type, as in
// "granularity=fine,compact,1,0".
bool is_cpu_affinity(const char* text);
bool is_kmp_affinity(const char* text);
// A list as sysfs has it, "0-3,8": calls add(argument, cpu) for each. Stops where it is no list.
void cpu_list(const char* text, void (*add)(void* argument, unsigned cpu), void* argument);

}  // namespace roost::omp::parse

// A counter that grows evenly on all cores and is read in a few nanoseconds: x86's time-stamp
// counter, aarch64's virtual counter. Its rate is the machine's, 1 to 5 ticks a nanosecond on
// x86; for thresholds that need no more than that.
#pragma once

#include <cstdint>

namespace roost {

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
#error "no counter for this processor"
#endif
}

}  // namespace roost

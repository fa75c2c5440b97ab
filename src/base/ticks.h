// A counter that grows evenly on all cores and is read in a few nanoseconds: x86's time-stamp
// counter, aarch64's virtual counter. Its rate is the machine's, 1 to 5 ticks a nanosecond on
// x86; for thresholds that need no more than that.
#pragma once

#include <atomic>
#include <cstdint>

namespace roost {

// What is asked in the counter's place, once the program has had the kernel forbid it
// (prctl(PR_SET_TSC)): whoever reads it then gets SIGSEGV.
inline constinit std::atomic<std::uint64_t (*)()> instead_of_counter{nullptr};
inline bool counter_is_forbidden() {
  return __builtin_expect(instead_of_counter.load(std::memory_order_relaxed) != nullptr, 0);
}

inline std::uint64_t ticks() {
  if (counter_is_forbidden()) return instead_of_counter.load(std::memory_order_relaxed)();
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

// The one door to atomics, fences and pauses for code that is also run by the model checker.
//
// Protocol code (thread state, ledger, parking lot) is a template over a World. The runtime and the
// tools use RealWorld; models/ brings a world of relacy's atomics, bench/ledger one that counts the
// cache lines each operation touches. A World has:
//   atomic<T>        load, store, exchange, compare_exchange_strong, fetch_or/and/add/sub
//   fence()          a sequentially consistent fence
//   enter_critical(), leave_critical()  around a process-local lock: no signal handler may re-enter
//   relax(spins)     inside a lock's spin loop, with the number of tries so far
#pragma once

#include <atomic>

namespace roost {

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Asks for the cache line in a state in which the caller may write it: one step, where a load and a
// store after it are two. A hint; never faults.
inline void prefetch_for_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(address));  // older processors take it for a nop
#else
  __builtin_prefetch(address, 1);
#endif
}

struct RealWorld {
  template <class T>
  using atomic = std::atomic<T>;
  static void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
  // Defined in os/relax.cc: pauses, then yields to the kernel, since the lock's holder may have
  // been preempted.
  static void relax(unsigned spins);
  // Defined in sched/self.cc.
  static void enter_critical();
  static void leave_critical();
};

}  // namespace roost

// The world of the model checker: relacy's atomics behind the one door of base/world.h.
//
// Relacy runs a small program in thousands of schedules and lets every load return any value that
// the C++ memory model allows. The protocol code is the product's own, from the headers. A model
// can be run with one function weakened (its orderings relaxed, its fence gone): it must then fail,
// or it proves nothing. Plain fields are not looked at by relacy; models shadow those that matter
// with rl::var, in the places the protocol hands out: policy callbacks, pin, attempts.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <source_location>

// Not relacy_std.hpp: its macros rename memory_order_* and new for everybody.
#include <relacy/base.hpp>
// In this order.
#include <relacy/atomic.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/dyn_thread.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/event.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/thread_local.hpp>
#include <relacy/var.hpp>

namespace roost::model {

using Where = std::source_location;

// What is taken away from a function of a header: its fence, or the orderings of its atomics.
enum class Take { nothing, fence, orderings };
struct Weakening {
  Take take = Take::nothing;
  const char* file = nullptr;
  const char* function = nullptr;
};
inline Weakening weakening;

inline bool weakened(Take kind, const Where& at) {
  if (weakening.take != kind || !std::strstr(at.file_name(), weakening.file)) return false;
  const char* name = at.function_name();
  std::size_t length = std::strlen(weakening.function);
  for (const char* found = name; (found = std::strstr(found, weakening.function)); ++found) {
    bool begins = found == name || std::strchr(" :", found[-1]);
    if (begins && found[length] == '(') return true;
  }
  return false;
}

inline rl::memory_order order(std::memory_order wanted, const Where& at) {
  if (weakened(Take::orderings, at)) return rl::mo_relaxed;
  switch (wanted) {
    case std::memory_order_relaxed:
      return rl::mo_relaxed;
    case std::memory_order_consume:
      return rl::mo_consume;
    case std::memory_order_acquire:
      return rl::mo_acquire;
    case std::memory_order_release:
      return rl::mo_release;
    case std::memory_order_acq_rel:
      return rl::mo_acq_rel;
    default:
      return rl::mo_seq_cst;
  }
}

inline rl::debug_info place(const Where& at) {
  return {at.function_name(), at.file_name(), at.line()};
}

template <class T>
class Atomic {
 public:
  Atomic(T value = T()) : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order o = std::memory_order_seq_cst, Where at = Where::current()) const {
    return value_.load(order(o, at), place(at));
  }
  void store(T value, std::memory_order o = std::memory_order_seq_cst,
             Where at = Where::current()) {
    value_.store(value, order(o, at), place(at));
  }
  T exchange(T value, std::memory_order o = std::memory_order_seq_cst,
             Where at = Where::current()) {
    return value_.exchange(value, order(o, at), place(at));
  }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order success,
                               std::memory_order failure, Where at = Where::current()) {
    return value_.compare_exchange_strong(expected, wanted, order(success, at), place(at),
                                          order(failure, at), place(at));
  }
  T fetch_or(T value, std::memory_order o, Where at = Where::current()) {
    return value_.fetch_or(value, order(o, at), place(at));
  }
  T fetch_and(T value, std::memory_order o, Where at = Where::current()) {
    return value_.fetch_and(value, order(o, at), place(at));
  }
  T fetch_add(T value, std::memory_order o, Where at = Where::current()) {
    return value_.fetch_add(value, order(o, at), place(at));
  }
  T fetch_sub(T value, std::memory_order o, Where at = Where::current()) {
    return value_.fetch_sub(value, order(o, at), place(at));
  }

  T current_for_kernel() const { return value_.load(rl::mo_relaxed, $); }

 private:
  rl::atomic<T> value_;
};

// futex(2). Knows sleepers by address, so that a wake on the address of a word that is gone finds
// nobody, or somebody who then wakes for nothing. A model has one, as a member.
class Kernel {
 public:
  static constexpr unsigned kThreads = 4;

  // The comparison and the falling asleep are one step against wake(), and a wake that is over is
  // seen. False: timed out.
  template <class T>
  bool wait(Atomic<T>& word, T expected, bool timed = false) {
    rl::context& context = rl::ctx();
    context.sched();
    rl::preemption_disabler one_step(context);
    lock_.fetch_add(0, rl::mo_acq_rel, $);
    if (word.current_for_kernel() != expected) return true;
    unsigned self = rl::thread_index();
    asleep_on_[self] = &word;
    rl::unpark_reason reason = beds_[self].wait(context, timed, true, $);
    asleep_on_[self] = nullptr;
    return reason != rl::unpark_reason_timeout;
  }

  void wake(const void* word) {
    rl::context& context = rl::ctx();
    context.sched();
    rl::preemption_disabler one_step(context);
    lock_.fetch_add(0, rl::mo_acq_rel, $);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      if (asleep_on_[thread] != word) continue;
      asleep_on_[thread] = nullptr;
      beds_[thread].wake(context, 1, $);
      return;
    }
  }

 private:
  rl::atomic<unsigned> lock_{0};
  rl::atomic<unsigned> beds_[kThreads];
  const void* asleep_on_[kThreads] = {};
};

struct World {
  template <class T>
  using atomic = Atomic<T>;
  static void fence(Where at = Where::current()) {
    if (!weakened(Take::fence, at)) rl::atomic_thread_fence(rl::mo_seq_cst, place(at));
  }
  static void relax(unsigned) { rl::ctx().yield(1, $); }
  static void enter_critical() {}
  static void leave_critical() {}
};

}  // namespace roost::model

// What a proof of waiting (spin/) found, as the scheduler takes it.
#pragma once

#include <pthread.h>

#include "sched/wait_words.h"
#include "spin/execute.h"

namespace roost {

// A wait for memory alone ends when the memory changes. Should anything else end it after all, it
// is looked at again after so long.
inline constexpr Nanoseconds kMemoryPatience = 20'000'000;
// One that looks at the clock too wants to sleep or do something else some day.
inline constexpr Nanoseconds kTimedPatience = 1'000'000;

// At most WaitWords::kMax loads.
inline WaitWords wait_for(const spin::Load* loads, unsigned count, Nanoseconds patience) {
  WaitWords wait{};
  for (; wait.count < count; ++wait.count) {
    const spin::Load& load = loads[wait.count];
    wait.words[wait.count] = {load.address, load.value, load.width};
  }
  wait.patience = patience;
  return wait;
}

// While it lives the calling thread is not cancelled at just any instruction: not while it is
// inside Roost, in a place where the program was computing.
class DeferCancellation {
 public:
  DeferCancellation() { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before_); }
  // Acts on a request that came meanwhile: does not return then.
  ~DeferCancellation() noexcept(false) {
    if (before_ != PTHREAD_CANCEL_DEFERRED) pthread_setcanceltype(before_, nullptr);
  }
  DeferCancellation(const DeferCancellation&) = delete;
  DeferCancellation& operator=(const DeferCancellation&) = delete;

 private:
  int before_;
};

// Reads what the thread itself is about to read: it may be read as well as by the thread.
inline bool read_directly(std::uint64_t address, unsigned bytes, std::uint64_t& value) {
  value = read_word(address, bytes);
  return true;
}

}  // namespace roost

// Keeps asynchronous cancellation out of Roost's code where the program did not call it.
#pragma once

#include <pthread.h>

namespace roost {

// While it lives the calling thread is not cancelled at just any instruction: not while it is
// inside Roost, in a place where the program was computing, or with a waiter on its stack.
class DeferCancellation {
 public:
  explicit DeferCancellation(bool wanted = true) {
    if (wanted) pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before_);
  }
  // Acts on a request that came meanwhile: does not return then.
  ~DeferCancellation() noexcept(false) {
    if (before_ != PTHREAD_CANCEL_DEFERRED) pthread_setcanceltype(before_, nullptr);
  }
  bool was_asynchronous() const { return before_ != PTHREAD_CANCEL_DEFERRED; }
  DeferCancellation(const DeferCancellation&) = delete;
  DeferCancellation& operator=(const DeferCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace roost

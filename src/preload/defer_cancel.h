// Keeps asynchronous cancellation out of a piece of Roost's code that runs in the middle of the
// program's.
#pragma once

#include <pthread.h>

namespace roost {

// A thread that may be cancelled anywhere calls nothing of Roost's by itself, so only what reaches
// it uncalled (a handler, a rewritten loop) needs this. A cancellation that came meanwhile is acted
// on at the end: the destructor may not return.
class DeferCancel {
 public:
  DeferCancel() { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before_); }
  ~DeferCancel() {
    if (before_ == PTHREAD_CANCEL_ASYNCHRONOUS) pthread_setcanceltype(before_, nullptr);
  }
  DeferCancel(const DeferCancel&) = delete;
  DeferCancel& operator=(const DeferCancel&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace roost

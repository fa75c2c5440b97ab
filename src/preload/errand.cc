// Errands and the helpers that run them.
//
// Every errand given has a helper of its own from the start: an idle one, or one that is started
// for it. Errands may wait for each other through the program.
#include "preload/errand.h"

#include <errno.h>
#include <sys/prctl.h>

#include "os/sys.h"
#include "preload/fork_gate.h"
#include "preload/lock.h"
#include "preload/wait.h"
#include "sched/keeper.h"

namespace roost {
namespace {

struct Errand {
  void (*run)(void*);
  void* data;
  int error;  // errno before it, then after
  Errand* next = nullptr;
};

// What the lock guards: errands nobody has begun, and helpers that are on their way to one.
constinit Lock lock;
Errand* first = nullptr;
unsigned waiting = 0, idle = 0;
constinit std::atomic<std::uint32_t> bell{0};  // rung for each errand

Errand* take() {
  LockGuard guard(lock);
  Errand* errand = first;
  if (!errand) return nullptr;
  first = errand->next;
  --waiting;
  --idle;
  return errand;
}

void* serve(void*) {
  os::raw_syscall(SYS_prctl, PR_SET_NAME, os::arg("roost-errand"));
  unpin_self();
  for (;;) {
    std::uint32_t seen = bell.load(std::memory_order_acquire);
    Errand* errand = take();
    if (!errand) {
      os::futex_wait(&bell, seen, os::FutexScope::process);
      continue;
    }
    errno = errand->error;
    errand->run(errand->data);
    errand->error = errno;
    {
      LockGuard guard(lock);
      ++idle;
    }
    LotHost host;
    signal_waiters<RealWorld>(bucket_of(errand), errand, 1, host, [](LotWaiter&) { return true; });
  }
}

// False if there is no helper for it.
bool give(Errand& errand) {
  Unforked section;
  LockGuard guard(lock);
  if (waiting == idle) {
    if (!start_helper(serve)) return false;
    ++idle;
  }
  ++waiting;
  errand.next = first;
  first = &errand;
  bell.fetch_add(1, std::memory_order_release);
  os::futex_wake(&bell, 1, os::FutexScope::process);
  return true;
}

}  // namespace

bool run_errand(void (*run)(void*), void* data) {
  DeferCancellation deferred;  // until the helper has done with what lies on this stack
  Errand errand{run, data, errno};
  LotHost host;
  LotWaiter waiter;
  waiter.key = &errand;
  LotBucketOf& bucket = bucket_of(&errand);
  begin_signal_wait<RealWorld>(bucket, waiter, host, [] { return true; });
  if (!give(errand)) {
    leave_queue<RealWorld>(bucket, waiter);
    host.leaves();
    return false;
  }
  end_signal_wait<RealWorld>(bucket, waiter, host);
  errno = errand.error;
  return true;
}

void errands_after_fork() {
  lock.reset();
  first = nullptr;
  waiting = idle = 0;
}

}  // namespace roost

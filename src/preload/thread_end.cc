// pthread_join and its variants, detach, cancel, kill: against the program's threads, not the
// kernel's.
#include "preload/thread_end.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "preload/affinity.h"
#include "preload/library_threads.h"
#include "preload/signal_stack.h"
#include "preload/stopped_threads.h"
#include "preload/thread_cache.h"
#include "preload/thread_create.h"
#include "preload/trap.h"
#include "preload/wait.h"

namespace roost {
namespace {

enum class JoinKind { wait, attempt };

bool is_over(const Thread* t) { return t->phase.load(std::memory_order_acquire) != Phase::running; }

// Waits until the thread is over. 0, or the error the join returns.
int await_end(Thread* t, const Deadline* deadline) {
  LotHost host(deadline, false, true);
  host.waits_for("pthread_join");
  host.joins_thread(t);
  LotWaiter waiter;
  waiter.key = t;
  LotBucketOf& bucket = bucket_of(t);
  while (!is_over(t)) {
    if (!begin_signal_wait<RealWorld>(bucket, waiter, host, [&] { return !is_over(t); })) break;
    switch (end_signal_wait<RealWorld>(bucket, waiter, host)) {
      case WaitResult::timed_out:
        return ETIMEDOUT;
      case WaitResult::cancelled:
        return ECANCELED;
      default:
        break;
    }
  }
  return 0;
}

int join(pthread_t handle, void** result, JoinKind kind, const Deadline* deadline) {
  Thread* t = find_thread(handle);
  Thread* me = this_thread();
  if (!t) {
    if (kind == JoinKind::wait && !deadline && join_library_thread(handle, result)) return 0;
    return without_core([&] {
      if (kind == JoinKind::attempt) return real::pthread_tryjoin_np(handle, result);
      if (!deadline) return real::pthread_join(handle, result);
      if (deadline->realtime) return real::pthread_timedjoin_np(handle, result, &deadline->at);
      return real::pthread_clockjoin_np(handle, result, CLOCK_MONOTONIC, &deadline->at);
    });
  }
  if (kind == JoinKind::wait) test_cancel();
  DeferCancellation deferred;  // as long as it is noted as the joiner
  threads_lock.acquire();
  int error = 0;
  if (t->detached) {
    error = EINVAL;
  } else if (kind == JoinKind::attempt && !is_over(t)) {
    error = EBUSY;
  } else if (t == me ||
             (me && me->joiner == t && !t->cancel_requested.load(std::memory_order_relaxed))) {
    // As in glibc: a thread that joins us and is cancelled will be done with that.
    error = EDEADLK;
  } else if (t->joiner) {
    error = EINVAL;
  } else {
    t->joiner = me ? me : t;
  }
  threads_lock.release();
  if (error) return error;
  error = await_end(t, deadline);
  if (error) {
    abandon_join(t);
    if (error != ECANCELED) return error;
    act_on_cancel();
    return join(handle, result, kind, deadline);
  }
  {
    LockGuard guard(threads_lock);
    if (t->phase.load(std::memory_order_acquire) == Phase::finished) {
      if (result) *result = t->result;
      t->joiner = nullptr;
      cache_joined(t);
      return 0;
    }
  }
  // The kernel thread is a few instructions from its end.
  error = without_core([&] { return real::pthread_join(handle, result); });
  free_thread(t);
  return error;
}

int detach(pthread_t handle) {
  Thread* t = find_thread(handle);
  if (!t) return real::pthread_detach(handle);
  bool ending = false;
  {
    LockGuard guard(threads_lock);
    if (t->detached || t->joiner) return EINVAL;
    t->detached = true;
    Phase phase = t->phase.load(std::memory_order_relaxed);
    if (phase == Phase::finished) cache_joined(t);
    ending = phase == Phase::ending;
  }
  if (!ending) return 0;
  int error = real::pthread_detach(handle);
  free_thread(t);
  return error;
}

// The `self` of a thread that is not known here, in a process that is not managed. A handle is the
// address of libc's part of the thread's storage, from which ours is as far in all of them.
Self& self_of(pthread_t handle) {
  auto distance = reinterpret_cast<std::uintptr_t>(&self) - pthread_self();
  return *reinterpret_cast<Self*>(handle + distance);
}

// Whether a signal may stop the thread in a critical section: one that it entered before handlers
// were kept out. Under threads_lock.
bool may_stop_in_section(const Thread* t, pthread_t handle) {
  if (!stops_threads.load(std::memory_order_relaxed) || is_over(t)) return false;
  const Self& its = self_of(handle);
  return __atomic_load_n(&its.depth, __ATOMIC_RELAXED) != 0 &&
         !__atomic_load_n(&its.blocks_signals, __ATOMIC_RELAXED);
}

std::atomic<int> unknown_cancellations{0};  // under way

int cancel_unknown(pthread_t handle) {
  if (handle == pthread_self()) {
    self.cancelled.store(true, std::memory_order_relaxed);
    return real::pthread_cancel(handle);
  }
  // It looks at the one, and acts on the other, after which it may be gone.
  unknown_cancellations.fetch_add(1, std::memory_order_seq_cst);
  self_of(handle).cancelled.store(true, std::memory_order_seq_cst);
  int error = real::pthread_cancel(handle);
  unknown_cancellations.fetch_sub(1, std::memory_order_seq_cst);
  return error;
}

// If libc's request was not there yet, it is soon.
void act_on_unknown_cancel() {
  self.cancelled.store(false, std::memory_order_seq_cst);
  bool coming = unknown_cancellations.load(std::memory_order_seq_cst) != 0;
  pthread_testcancel();
  if (coming) self.cancelled.store(true, std::memory_order_relaxed);
}

int cancel(pthread_t handle) {
  Thread* t = find_thread(handle);
  if (!t) return cancel_unknown(handle);
  ThreadIndex index = kNoThread;
  {
    LockGuard guard(threads_lock);
    Phase phase = t->phase.load(std::memory_order_relaxed);
    if (phase == Phase::finished) return 0;
    // libc's request comes first: whoever sees ours acts on libc's, and takes one that libc does
    // not know for one it acted on before.
    if (t != this_thread()) {
      int error = real::pthread_cancel(handle);
      if (error) return error;
    }
    if (phase == Phase::running) {
      t->cancel_requested.store(true, std::memory_order_seq_cst);
      index = t->index;
    }
  }
  if (t == this_thread()) return real::pthread_cancel(handle);  // may not return
  // Whatever Roost wait it is in, it looks at the request again.
  if (index != kNoThread) unpark(index);
  return 0;
}

// The calling thread is the program's no more.
void leave_for_good() {
  self.thread = nullptr;
  trap_thread_ends();
  if (self.record) thread_detach();
  signal_stack_end();
  trace::thread_ends();
}

}  // namespace

bool cancel_enabled() {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, nullptr);
  return state == PTHREAD_CANCEL_ENABLE;
}

void act_on_cancel() {
  if (!this_thread()) return act_on_unknown_cancel();
  pthread_testcancel();
  // It returned: libc unwinds this thread already, and we are in one of its handlers.
  this_thread()->cancel_acted = true;
}

void await_creator(const Thread* t) {
  for (unsigned spins = 0; !t->creator_done.load(std::memory_order_acquire);)
    RealWorld::relax(spins++);
}

void abandon_join(Thread* t) {
  LockGuard guard(threads_lock);
  t->joiner = nullptr;
}

void wake_joiners(Thread* t) {
  LotHost host;
  if (!lot.may_have_waiters(t)) return;
  signal_waiters<RealWorld>(bucket_of(t), t, UINT_MAX, host, [](LotWaiter&) { return true; });
}

void on_thread_end(void* data) {
  auto* t = static_cast<Thread*>(data);
  // The program's own destructors may still use threads' functions: stay until the last round.
  if (++t->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key(), t);
    return;
  }
  await_creator(t);
  threads_lock.acquire();
  t->phase.store(Phase::ending, std::memory_order_seq_cst);
  bool detached = t->detached;
  threads_lock.release();
  // Libc counts Roost's own threads; where there are none, those that Roost does not know.
  if (thread_finished() && runtime_active()) exit(0);
  if (detached) {
    real::pthread_detach(pthread_self());
    free_thread(t);
  } else {
    wake_joiners(t);
  }
  leave_for_good();
}

void end_unused(Thread* joined) {
  pthread_setspecific(end_key(), nullptr);
  if (joined) {
    real::pthread_detach(pthread_self());
    free_thread(joined);
  }
  leave_for_good();
}

ROOST_EXPORT int pthread_join(pthread_t handle, void** result) {
  return join(handle, result, JoinKind::wait, nullptr);
}
ROOST_EXPORT int pthread_tryjoin_np(pthread_t handle, void** result) noexcept {
  return join(handle, result, JoinKind::attempt, nullptr);
}
ROOST_EXPORT int pthread_clockjoin_np(pthread_t handle, void** result, clockid_t clock,
                                      const timespec* at) {
  if (!at) return join(handle, result, JoinKind::wait, nullptr);
  if (!supported(clock)) return EINVAL;
  Deadline deadline = deadline_of(at, clock);
  Thread* t = find_thread(handle);
  if (!valid(at) && t && !is_over(t)) return EINVAL;
  return join(handle, result, JoinKind::wait, &deadline);
}
ROOST_EXPORT int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* at) {
  return pthread_clockjoin_np(handle, result, CLOCK_REALTIME, at);
}
ROOST_EXPORT int pthread_detach(pthread_t handle) noexcept { return detach(handle); }
ROOST_EXPORT int pthread_cancel(pthread_t handle) { return cancel(handle); }

ROOST_EXPORT int pthread_kill(pthread_t handle, int signal) noexcept {
  before_signal_to_thread();
  Thread* t = find_thread(handle);
  // Also in handlers: then the lock may be held by what they interrupted.
  if (!t || t == this_thread() || inside_roost()) return real::pthread_kill(handle, signal);
  // It may have been preempted in a section, but not for good.
  constexpr Nanoseconds kLook = 50'000, kLongest = 1'000'000'000;
  for (Nanoseconds waited = 0;; waited += kLook) {
    {
      LockGuard guard(threads_lock);
      // A finished thread's kernel thread must not get the signal: it may soon be another thread.
      if (t->phase.load(std::memory_order_acquire) == Phase::finished)
        return signal < 0 || signal > 64 ? EINVAL : 0;
      if (waited >= kLongest || !may_stop_in_section(t, handle))
        return real::pthread_kill(handle, signal);
    }
    os::sleep_for(kLook);
  }
}

ROOST_EXPORT int pthread_getattr_np(pthread_t handle, pthread_attr_t* attr) noexcept {
  int error = real::pthread_getattr_np(handle, attr);
  Thread* t = find_thread(handle);
  if (error || !t) return error;
  if (t->detached) pthread_attr_setdetachstate(attr, PTHREAD_CREATE_DETACHED);
  cpu_set_t cpus = {};  // libc says where the kernel thread happens to be pinned
  if (runtime_active() && get_affinity_hint(t->tid, sizeof cpus, &cpus) > 0)
    pthread_attr_setaffinity_np(attr, sizeof cpus, &cpus);
  return 0;
}

ROOST_EXPORT int thrd_join(thrd_t handle, int* result) {
  void* value = nullptr;
  if (join(handle, &value, JoinKind::wait, nullptr) != 0) return thrd_error;
  if (result) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return thrd_success;
}
ROOST_EXPORT int thrd_detach(thrd_t handle) {
  return detach(handle) == 0 ? thrd_success : thrd_error;
}

}  // namespace roost

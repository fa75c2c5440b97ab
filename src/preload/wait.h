// How interposed functions wait: in the parking lot, or in libc's own call with the core given
// away.
//
// One file a libc family uses these; nothing here is specific to a family. errno is left alone.
#pragma once

#include <errno.h>
#include <time.h>

#include "preload/defer_cancellation.h"
#include "preload/errand.h"
#include "preload/light.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/realtime.h"
#include "preload/thread.h"
#include "sched/handler_wait.h"
#include "sched/runtime.h"

namespace roost {

// 4096 buckets of a cache line: with thousands of live locks two seldom share a bucket.
using Lot = ParkingLot<RealWorld, 4096>;
using LotWaiter = Waiter<RealWorld>;
using LotBucketOf = LotBucket<RealWorld>;
extern constinit Lot lot;

// Before the first fork: its child has no waiters.
void lot_empties_at_fork();
// How many waits of the calling thread, which a handler has interrupted to fork, are to begin anew.
unsigned lot_after_fork();

// Makes every waiter of the retry protocol look again at what it waits for. False if some could not
// be reached, as somebody keeps a lock.
bool wake_all_who_retry();

inline LotBucketOf& bucket_of(const void* key) { return lot.bucket(key); }

// The lot's host in a real process: managed threads park on their record, others on the waiter.
class LotHost {
 public:
  // For who wakes.
  LotHost() : deferral_(false) {}
  // For who waits. A thread that may be cancelled anywhere is so at the wait's end: asleep, it has
  // a waiter in the queue.
  explicit LotHost(const Deadline* deadline, bool interruptible = false, bool cancellable = false)
      : deadline_(deadline),
        interruptible_(interruptible),
        cancellable_((cancellable || deferral_.was_asynchronous()) && cancel_enabled()) {}
  // For a managed thread. The sleep ends as interrupted when something happens at the word.
  explicit LotHost(OutsideWord& outside)
      : deferral_(false), outside_(&outside), interruptible_(true) {}

  // What a trace calls it: the kind of the object.
  void waits_for(const char* object) { object_ = object; }

  ThreadIndex self() const { return can_park() ? roost::self.index : kNoThread; }
  WaitResult sleep(LotWaiter& waiter);
  void await_signal(LotWaiter& waiter);
  static void wake(ThreadIndex thread, LotWaiter* waiter);

  void joins(LotBucketOf& bucket, LotWaiter& waiter);
  void leaves();
  // Ends the calling thread's waits in the lot, in a signal handler that is about to leave them.
  // The mutex of the condition variable that was one of them, if so.
  static pthread_mutex_t* abandon_all();
  void has_unlocked(pthread_mutex_t* mutex) { unlocked_ = mutex; }
  void joins_thread(Thread* thread) { joined_ = thread; }
  // In the child of a fork, where nobody is in the lot. Waits that a handler has interrupted to
  // fork begin anew when it returns to them. How many.
  static unsigned abandon_all_after_fork();

 private:
  static void abandon_after_fork(LotWaiter& waiter);
  WaitResult sleep_unmanaged(LotWaiter& waiter);
  WaitResult sleep_beside_siblings(LotWaiter& waiter);

  DeferCancellation deferral_;
  const Deadline* deadline_ = nullptr;
  const char* object_ = nullptr;
  OutsideWord* outside_ = nullptr;
  bool interruptible_ = false;
  bool cancellable_ = false;

  LotBucketOf* bucket_ = nullptr;
  LotWaiter* waiter_ = nullptr;
  pthread_mutex_t* unlocked_ = nullptr;
  Thread* joined_ = nullptr;
  std::uint32_t forks_ = 0;   // of the thread when it joined
  LotHost* outer_ = nullptr;  // of the wait that the handler this one is in has interrupted
  static constinit thread_local LotHost* innermost_
      __attribute__((tls_model("initial-exec"), visibility("hidden")));
};

// A wait in the lot for what comes unseen, too: from other processes, by the kernel. So it ends now
// and then, before its deadline, to look.
class LookNowAndThen {
 public:
  LookNowAndThen(const Deadline* deadline, bool wanted);
  const Deadline* deadline() const { return deadline_; }
  // Whether the deadline that has passed is the wait's.
  bool is_over() const { return deadline_ != &look_; }

 private:
  const Deadline* deadline_;
  Deadline look_;
};

// Of waits of the retry protocol that are busy, or end so.
inline int why_gave_up(WaitResult end) {
  if (end == WaitResult::timed_out) return ETIMEDOUT;
  return end == WaitResult::cancelled ? ECANCELED : EBUSY;
}

// True in a signal handler that interrupted Roost itself: waits go to libc, wakes are deferred.
inline bool inside_roost() { return self.depth != 0; }

// The kernel's id of the calling thread, managed or not.
inline int own_tid() { return self.tid ? self.tid : os::gettid(); }

// Whether a timed call's timespec is one POSIX accepts; only looked at when the call would block.
inline bool valid(const timespec* at) { return at->tv_nsec >= 0 && at->tv_nsec < 1'000'000'000; }
inline bool supported(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
// A time before the epoch has passed; the kernel would call it invalid.
inline Deadline deadline_of(const timespec* at, clockid_t clock) {
  return {at->tv_sec < 0 ? timespec{} : *at, clock == CLOCK_REALTIME};
}

// A call with the core that a signal would end early, whatever its handler's SA_RESTART, with a
// part of its result or EINTR: the watchdog's own does not.
template <class Call>
auto undisturbed(const Call& call) {
  WithoutNudges guard;
  return call();
}

// Before a wait in the kernel with whatever the thread has: that of a handler, if it is one.
inline HandlerWait begin_wait_in_handler() {
  return interrupts_wait() && in_managed_process() ? begin_handler_wait() : HandlerWait::none;
}

// A call and its result, to be made through a pointer to a function.
template <class Call>
struct CallFrame {
  const Call* call;
  decltype((*call)()) result{};
  static void run(void* frame) {
    auto* own = static_cast<CallFrame*>(frame);
    own->result = (*own->call)();
  }
};

// Runs libc's blocking call with the core given away, and gets a core again before returning; also
// when the thread is cancelled inside. For any thread: unmanaged ones just make the call, and so do
// children that share the parent's memory (vfork), whose core this is not. `name`: what a trace
// calls it.
template <class Call>
auto without_core(const Call& call, const char* name = __builtin_FUNCTION()) {
  follow_changed_policy();
  CallFrame<Call> frame{&call};
  if (!can_park() || !waits_in_managed_process()) {
    if (inside_roost()) keep_handlers_out_of_sections();
    HandlerWait wait = begin_wait_in_handler();
    if (wait == HandlerWait::none) return call();
    auto end = [](void* begun) { end_handler_wait(*static_cast<HandlerWait*>(begun)); };
    roost_call_cancellable(frame.run, &frame, end, &wait);
    end_handler_wait(wait);
    return frame.result;
  }
  if (is_light()) let_siblings_go_first();
  self.waits_in = name;
  enter_external();
  roost_call_cancellable(
      frame.run, &frame, [](void*) { leave_external(); }, nullptr);
  leave_external();
  return frame.result;
}

// The same for a call that does the same in any thread of the process: if the calling light thread
// has siblings, a helper makes it, and they run meanwhile.
template <class Call>
auto without_core_anywhere(const Call& call, const char* name = __builtin_FUNCTION()) {
  if (is_light() && can_park() && waits_in_managed_process() && let_siblings_go_first()) {
    CallFrame<Call> frame{&call};
    if (run_errand(frame.run, &frame)) return frame.result;
  }
  return without_core(call, name);
}

// Runs libc's call that makes a child, without the core until the child has its image. The child
// inherits the affinity and may be unmanaged, so that is the whole instance's meanwhile.
template <class Call>
auto make_child(const Call& call, const char* name = __builtin_FUNCTION()) {
  bool managed = self.record && in_managed_process();
  if (managed) unpin_self();
  auto result = without_core(call, name);
  if (managed) repin_self();
  return result;
}

}  // namespace roost

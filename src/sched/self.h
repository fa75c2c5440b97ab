// What the calling thread knows of itself inside Roost: one small constant-initialised TLS struct.
//
// Before Roost has attached a thread, and in programs it does not manage, `record` is null and
// every interposed function passes straight through to libc: there is no "initialised?" test
// anywhere.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "sched/beside.h"
#include "sched/leaves_soon.h"
#include "segment/records.h"

namespace roost {

struct Self {
  ThreadRecord<RealWorld>* record = nullptr;  // null: unmanaged
  ThreadIndex index = kNoThread;
  std::int32_t tid = 0;
  std::int32_t named_tid = 0;   // part of its name while it has no record (segment/party.h)
  std::uint32_t depth = 0;      // inside Roost's critical sections
  bool blocks_signals = false;  // for the outermost of them
  std::uint64_t blocked_before = 0;
  bool parked = false;             // waits for a grant; only a signal handler can see it set
  std::uint32_t waits = 0;         // that may park, one within the other (wait_begins)
  std::uint32_t forks = 0;         // by which this thread has become a child's
  std::uint32_t unforked = 0;      // sections that forks of others wait for (preload/fork_gate.h)
  bool in_kernel = false;          // inside a blocking kernel call, without a core
  bool inside_libc = false;        // in a call that libc made, and so perhaps with a lock of libc's
  bool waits_inside_libc = false;  // there without a core, or a wait for one
  bool keeps_core = false;         // does not give it up between calls for now (roost_pass_point)
  bool beside = false;             // runs without a core, back from the kernel for a moment
  Runs runs;                       // between waits in the kernel
  LeavesSoon leaves_soon;          // its core, after it has woken another thread
  bool loose = false;              // not pinned, since its core was idle whenever it waited
  std::uint8_t idle_waits = 0;     // waits in the kernel in a row for which its core was idle
  CoreIndex attends = kNoCore;     // an idle core (sched/attendance.h)
  std::uint16_t hand_offs = 0;     // grants waited for, counted round (leave_kernel_a_moment)
  CoreIndex place = kNoCore;       // on whose CPU it has to run, as far as it knows
  std::uint8_t polls_waited = 0;   // of poll and its kind in a row
  int polled = -1;                 // by the last one, found ready; none if it was used since
  std::uint8_t polls_alike = 0;    // that found the same one, counted round
  const char* waits_in = nullptr;  // what it is about to wait for, for a trace
  pthread_mutex_t* last_locked = nullptr;  // by pthread_mutex_lock(); it may be gone
  const void* give_way = nullptr;  // a mutex this thread may not take again before those who wait
  std::atomic<bool> has_deferred = false;  // wake-ups, until Roost is left
  void* thread = nullptr;                  // preload's Thread
  std::atomic<bool> cancelled = false;     // by another thread, where there is no Thread
};

// Threads of this process that wait, in the kernel or for a core, in a call that libc made: they
// may have locks of libc's meanwhile.
extern std::atomic<std::uint32_t> waiters_inside_libc;

#if defined(__clang__) || defined(__GNUC__)
extern constinit thread_local Self self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif

// Something that every managed thread of the process has to look at once, at its next scheduling
// point, changes `scheduling_epoch`; `at_new_epoch` is then called with a core in hand and brings
// the thread's own up to date.
extern std::atomic<std::uint32_t> scheduling_epoch;
extern void (*at_new_epoch)();
// To be called once more, whatever the epoch.
inline constexpr std::uint32_t kLookAgain = ~0u;
extern "C" constinit thread_local std::uint32_t roost_seen_epoch
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline void pass_scheduling_point() {
  if (__builtin_expect(roost_seen_epoch != scheduling_epoch.load(std::memory_order_acquire), 0))
    at_new_epoch();
}

void run_deferred_wakes();
// Wakes all who may be woken for nothing; set by whoever owns the parking lot. False if some could
// not be reached.
extern bool (*wake_everybody)();

// Brackets code that a signal handler on this thread must not re-enter. Costs two TLS writes.
class Critical {
 public:
  Critical() { RealWorld::enter_critical(); }
  ~Critical() { RealWorld::leave_critical(); }
  Critical(const Critical&) = delete;
  Critical& operator=(const Critical&) = delete;
};

// While it lives no signal handler runs on this thread. Two system calls, if wanted.
class NoSignals {
 public:
  explicit NoSignals(bool wanted = true) : wanted_(wanted) {
    if (__builtin_expect(wanted_, 0)) block();
  }
  ~NoSignals() {
    if (__builtin_expect(wanted_, 0)) restore();
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

  // What the thread blocks without it; nothing if it is not wanted.
  std::uint64_t before() const { return before_; }

 private:
  void block();
  void restore();

  bool wanted_;
  std::uint64_t before_ = 0;
};

// Whether no handler comes in a critical section, for two system calls in each outermost one. So
// it is once the program may have handlers that leave what they interrupt by siglongjmp, or that
// wait for another thread (a collector's, which stops this one by a signal and starts it again
// later): what they interrupted would not be finished, or not soon, and others may need it.
extern std::atomic<bool> handlers_stay_out;
// Stored once: all threads read its cache line.
inline void keep_handlers_out_of_sections() {
  if (!handlers_stay_out.load(std::memory_order_relaxed))
    handlers_stay_out.store(true, std::memory_order_seq_cst);
}

// Leaves a wake-up for the interrupted code to issue. Called in a handler, with self.depth > 0.
void defer_wake(void (*run)(const void*, std::uint32_t), const void* key, std::uint32_t count);
// Issues those that have been left for long: the handler waits, perhaps for who is to be woken. As
// far as `may_issue` lets it: not what needs a lock that the interrupted code has.
void issue_overdue_wakes(bool (*may_issue)(const void* key));
inline constexpr Nanoseconds kWakeOverdue = 20'000'000;
// Whether any are left, of whatever age.
bool wakes_are_deferred();
// In the child of a fork: its threads are gone.
void forget_deferred_wakes();

}  // namespace roost

// The scheduler inside a process: attaches it to an instance and blocks, wakes and moves its
// threads.
//
// Everything here concerns the calling thread unless it says otherwise. Functions marked [managed]
// need self.record; the others work for any thread. None allocates; park, yield and the external
// pair may sleep. Signal handlers may call unpark; the rest only where self.depth and self.parked
// are clear.
#pragma once

#include <pthread.h>
#include <time.h>

#include "sched/ledger.h"
#include "sched/lot_wait.h"
#include "sched/seats.h"
#include "sched/self.h"
#include "sched/wait_words.h"
#include "segment/segment.h"
#include "topo/cpu_set.h"
#include "trace/recorder.h"

namespace roost {

// libc's own functions, past Roost's interposition.
struct LibcThreads {
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*mutex_consistent)(pthread_mutex_t*);
  int (*mutex_unlock)(pthread_mutex_t*);
};

// An absolute point in time on the clock the caller was given.
struct Deadline {
  timespec at;
  bool realtime;
};
// How long until it is due, in ns; not negative.
Nanoseconds left_until(const Deadline&);

enum class Park { woken, timed_out, interrupted };

// A word of the program that a parked thread also sleeps on, as a futex of its process: for wakers
// that Roost does not see.
struct OutsideWord {
  const std::uint32_t* word;
  std::uint32_t expected;
  enum class End { none, changed, woken } end = End::none;  // what the thread saw there
};

// Attaches the process to `config.instance` and makes the caller its first managed thread, with a
// core. 0, -errno or a SegmentError; on error the process stays unmanaged. After
// kSegmentPolicyMismatch runtime_refusal() says in a sentence what is wrong with the policy.
int runtime_start(const SegmentConfig& config, const LibcThreads& libc);
const char* runtime_refusal();
bool runtime_active();
const Segment& runtime_segment();
ProcessIndex runtime_process();
// For the others' --blas adapt: how many threads of this process call a BLAS library, in
// sixteenths.
void runtime_show_callers(unsigned callers);
// How many wait loops of this process lead through stubs. Holds for the children of later forks.
void runtime_show_loops(unsigned loops);
// Which rank of a parallel job this process is; before runtime_start(). Holds for the children of
// later forks.
void runtime_is_rank(Rank);
// Managed threads of this process.
std::uint32_t runtime_thread_count();
// Of all that have been managed, those that have ended included.
std::uint32_t runtime_threads_so_far();
// The kernel's CPUs of the instance's cores.
const CpuSet& runtime_cpus();

// Non-zero while threads may be READY (a hint); the pointer stays valid, whatever the instance
// does.
extern std::atomic<const std::atomic<std::uint64_t>*> queued_hint;

// Tells the instance's keepers by which signal a thread of this process is asked whether it waits
// (0: by none). Holds for the children of later forks as well.
void runtime_accept_nudges(int signal);

// In the parent, before a fork: the child then knows without asking when it began.
void runtime_before_fork();
// In the child of a fork: forgets the parent's threads and attaches the child.
void runtime_after_fork();

// The watchdog's signal has reached the calling thread.
inline void nudge_arrived() {
  if (self.record) self.record->nudge.arrived();
  trace::record({.kind = trace::Kind::nudged});
}

// While it lives, the watchdog does not ask the calling thread by its signal, which would end some
// system calls with a part of their result, or EINTR [nudge-2]. Nestable, in handlers too.
class WithoutNudges {
 public:
  WithoutNudges();
  ~WithoutNudges() {
    if (refusing_) end();
  }
  WithoutNudges(const WithoutNudges&) = delete;
  WithoutNudges& operator=(const WithoutNudges&) = delete;

  // Whether one lives; and its end, for whoever leaves by a jump. The record may be another one by
  // then, or none: a handler may have given it back.
  static bool any() { return self.record && self.record->nudge.is_refused(); }
  static void end() {
    if (self.record) self.record->nudge.accept();
  }

 private:
  const bool refusing_;
};

// Before exec, and to undo it if exec fails. [managed]
void runtime_before_exec();
void runtime_exec_failed();

// At the end of the process: gives back what this thread holds and the process slot, and removes
// the segment if this was the last process.
void runtime_stop();

// From now on the process may not make all system calls: no further thread joins, nor does a child,
// and others find that it has ended, as if it had been killed.
void runtime_restrict();
bool runtime_restricted();

// A thread joins: takes a record and waits for a core. False if the instance is out of records: the
// thread then stays unmanaged.
bool thread_attach();
// The thread leaves; runs on unmanaged. [managed]
void thread_detach();

// Blocks until unparked or `deadline`; a permit left earlier returns at once. May return woken
// spuriously. A signal handler ends it early only if `interruptible`; so does what happens at the
// `outside` word, which takes no deadline. [managed]
Park park(const Deadline* deadline, bool interruptible, OutsideWord* outside = nullptr);
// Around a loop that looks at what it waits for and parks, from before its first look. [nested-1]
// Who ends such a loop within another one, a handler's or a sibling's, leaves its thread a permit,
// as it may have had the other's: that one looks once more. [managed]
inline void wait_begins() { ++self.waits; }
void wait_ends(bool parked = true);
// The same for a kernel thread whose thread of the program has ended: the policy sees a core left
// for good, and a new thread when it is woken. [managed]
void park_ended();
// Wakes the thread or leaves it a permit. Any thread, handlers included.
void unpark(ThreadIndex thread);

// Lets another READY thread run; false if there was none. [managed]
// `wait`: what the caller waits for; threads of its process pass it over until then, for a while.
bool yield_core(const WaitWords* wait = nullptr);

// Around a call that may block in the kernel: without a core, then with one again. Nestable in
// handlers: the inner pair does nothing. [managed]
void enter_external();
void leave_external();
// After something took the core while the thread ran (watchdog) or a handler jumped out of a
// blocking call: gets a core again. One load when all is well. [managed]
inline bool has_core() {
  return state_of(self.record->state.load(std::memory_order_relaxed)) == State::running;
}
void regain_core();
// Before a signal handler that interrupted a wait jumps out of it for good: what the waiting frame
// would have done on return. Who was to wake the thread may still do so, for nothing. [managed]
void abandon_wait();

// Whether the caller can block through Roost: managed, and not in a handler that interrupted Roost.
inline bool can_park() { return self.record && self.depth == 0 && !self.parked && !self.in_kernel; }

// Makes the kernel affinity that of the whole instance (for children that may be unmanaged), or
// pins it back.
void unpin_self();
// The same for any thread of this process that has a record, until its next grant.
void unpin_thread(ThreadIndex);
void repin_self();

}  // namespace roost

// Carriers: the OS threads that light threads (strands) run on.
//
// A strand is a stack. Each OS thread that meets the runtime is a carrier; its own stack is its
// root strand, and it has others for calls of batches (ult/batch.h) that it begins while the one it
// is on waits. A strand never leaves its carrier, so addresses of thread-local variables stay
// what they were; calls that have not begun belong to nobody and go to whoever has time.
//
// Who waits does something else meanwhile, in this order: another strand of this carrier that has
// been woken; a call that nobody has begun, if it descends from the batch the waiting one names;
// and with nothing to do it polls for a while, then sleeps. Only descendants are begun: the waiting
// strand may hold what a stranger would spin for, and who never began holds nothing.
//
// The protocols (wake-ups, mail, sleep) are argued in ult/PROTOCOL.md; labels [wake-n], [mail-n].
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "ult/batch.h"
#include "ult/host.h"
#include "ult/memory.h"
#include "ult/sanitizer.h"
#include "ult/wait_list.h"

namespace roost::ult {

struct Carrier;

// What the C++ runtime keeps for a thread about the exceptions it is handling (__cxa_eh_globals of
// the Itanium C++ ABI): a strand that waits inside a handler keeps its own.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

inline constexpr unsigned kExchangedKeys = 6;

struct Strand {
  void* stack_pointer = nullptr;  // while it is suspended
  Carrier* carrier = nullptr;
  Exceptions exceptions;                   // while it is suspended
  void* thread_data[kExchangedKeys] = {};  // likewise (ult/thread_data.h)
  Strand* next = nullptr;                  // in a queue: a strand is in one at a time
  Strand* next_spare = nullptr;
  bool free = false;  // it has no call; may be in a queue all the same [signal-2]
  // It is in `woken` or among the ready ones, or about to be. Waits nest on a strand (a task
  // executed by one who waits may wait itself), so it may be woken for one while it runs in
  // another, and then looks at its own for nothing.
  std::atomic<bool> signalled{false};
  // It waits in a call of libc's, and must look itself whether that is over: it stays among the
  // ready ones (ult/siblings.cc). At which `progress` of its carrier it looked last.
  bool blocked = false;
  std::uint32_t looked = 0;
  void* local = nullptr;          // what the layer above keeps for it: `here.local` while it runs
  const Batch* inside = nullptr;  // the batch whose call it is in, as set_inside() said
  // The call it was begun for, and what it may begin after that.
  Batch* batch = nullptr;
  unsigned call = 0;
  const Batch* under = nullptr;
  Stack stack;
  Fibre fibre;
};

// What the calling thread is; the carrier is null until attach().
struct Here {
  Carrier* carrier = nullptr;
  void* local = nullptr;
};
extern constinit thread_local Here here
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Names any batch, as what may be begun.
extern const Batch kAnything;
inline bool may_begin(const Batch* under, const Batch& batch) {
  return under == &kAnything || (under && batch.descends_from(under));
}

class StrandQueue {
 public:
  void push(Strand* strand) {
    strand->next = nullptr;
    if (last_) {
      last_->next = strand;
    } else {
      first_.store(strand, std::memory_order_relaxed);
    }
    last_ = strand;
  }
  void push_first(Strand* strand) {
    strand->next = first_.load(std::memory_order_relaxed);
    first_.store(strand, std::memory_order_relaxed);
    if (!last_) last_ = strand;
  }
  // False if it is not there.
  bool move_to_front(Strand* strand) {
    Strand* before = nullptr;
    for (Strand* at = first_.load(std::memory_order_relaxed); at != strand; at = at->next) {
      if (!at) return false;
      before = at;
    }
    if (!before) return true;
    before->next = strand->next;
    if (last_ == strand) last_ = before;
    push_first(strand);
    return true;
  }
  Strand* pop() {
    Strand* strand = first_.load(std::memory_order_relaxed);
    if (!strand) return nullptr;
    first_.store(strand->next, std::memory_order_relaxed);
    if (!strand->next) last_ = nullptr;
    return strand;
  }
  void clear() {
    first_.store(nullptr, std::memory_order_relaxed);
    last_ = nullptr;
  }
  // To others than its owner a hint.
  bool has_any() const { return first_.load(std::memory_order_relaxed) != nullptr; }

 private:
  std::atomic<Strand*> first_{nullptr};
  Strand* last_ = nullptr;
};

// Open batches a carrier shows to others at a time; further ones wait for their owner.
inline constexpr unsigned kOpenBatches = 8;

// When a thread was last seen to wait by spinning outside all regions, and on which core.
struct Spun {
  std::atomic<Nanoseconds> at_ns{0};
  std::atomic<std::int32_t> on{-1};
};

// How long a carrier's sleeps were of late. Where all were short (a program that computes by itself
// between its regions), it had better not have slept: to wake it costs 20 us.
class Pauses {
 public:
  static constexpr Nanoseconds kLongest = 5'000'000;

  // One that began when the carrier began to wait.
  void add(Nanoseconds length) { n_short_ = length < kLongest ? std::min(n_short_ + 1, kMany) : 0; }
  bool are_short() const { return n_short_ == kMany; }

 private:
  static constexpr int kMany = 8;
  int n_short_ = 0;
};

struct alignas(kCoreStride) Carrier {
  // What others write.
  std::atomic<Strand*> woken{nullptr};  // a stack: strands that were made ready elsewhere
  std::atomic<std::uint64_t> mail{0};   // pool workers: see Mail
  bool is_worker = false;
  Sleeper sleeper;
  std::atomic<const Batch*> hungry{nullptr};  // while it sleeps: what it may begin
  // How often it has gone from one thing to the next, for the watch (ult/watch.cc); a hint.
  std::atomic<std::uint32_t> steps{0};
  std::atomic<const Batch*> inside{nullptr};  // what the running strand is inside of, likewise
  // One around its running strand that has calls left, one of which it is to begin itself: set by
  // the watch.
  std::atomic<Batch*> due{nullptr};
  std::atomic<bool> wants_pieces{false};  // and whether it would do pieces of work of that batch
  Spun spun;

  // What it shows to others.
  alignas(kCoreStride) std::atomic<Batch*> open[kOpenBatches] = {};
  std::atomic<unsigned> n_open{0};
  // One of those around its running strand that was not shown, and whose calls others are to begin
  // after all: set and cleared by the watch.
  std::atomic<Batch*> overdue{nullptr};

  // Its own.
  alignas(kCoreStride) Strand* current = nullptr;
  Strand root;
  StrandQueue ready;
  Strand* retired = nullptr;  // left by the switch under way: free once it is over
  Strand* spare = nullptr;    // stacks for calls to come
  Strand* left = nullptr;     // by the switch under way, for sanitizers
  unsigned index = 0;
  unsigned victim = 0;  // where it looked last for something to do
  unsigned glance = 0;  // and whether there is something
  Pauses pauses;
  bool counted = false;         // among the active ones
  bool counted_before = false;  // the sleep it has announced
  std::uint32_t live = 0;       // strands that have begun a call, besides the root
  std::uint32_t progress = 0;   // how often a strand has gone on that is not blocked
  std::uint32_t yields = 0;
  std::uint32_t unserved = 0;  // how often it found no core to spare
  // The strand that spun last for a call on another core (Batch::apart): from when to when, in
  // ticks.
  const Strand* apart = nullptr;
  std::uint64_t apart_from = 0, apart_to = 0;
  std::uint64_t ready_due = 0;  // when ready_are_due() last, in ticks
  // Since when it leaves calls beyond its share to others; 0: it does not.
  Nanoseconds left_rest_ns = 0;
  // The runtime is in a call of libc's: whoever interrupts it there leaves it alone.
  volatile bool in_runtime = false;
  volatile bool interrupted = false;  // by our own question: such an EINTR is not the program's
  // Kept by the layer above: its root waits for work of a region in which it has no part any more.
  bool stays = false;
  bool watched_for_overflow = false;  // its thread, and then perhaps on this stack (ult/overflow.h)
  Stack alternate;
  // What Roost is told of the running strand (roost/roost.h, light threads); one of our own where
  // there is no Roost.
  struct roost_light* light = nullptr;
  struct roost_light own_light = {};
  std::atomic<std::uint32_t> thread{0};  // the roost_thread, or 0
  int* error = nullptr;                  // the thread's errno
  Exceptions* exceptions = nullptr;      // the thread's; null where there is no C++ runtime
  std::atomic<std::int32_t> tid{0};      // the kernel's number
  void* user = nullptr;                  // what the layer above keeps for the carrier
};

// Of its thread, for the kernel.
inline std::int32_t tid_of(const Carrier& carrier) {
  return carrier.tid.load(std::memory_order_relaxed);
}

// The calling thread's carrier; makes it one at the first call. Never null.
Carrier& attach();
inline Carrier& carrier() { return here.carrier ? *here.carrier : attach(); }

// Called for each carrier that is about to end with its thread; set by the layer above.
extern std::atomic<void (*)(Carrier& carrier)> carrier_ends;

// Called, if set, before a carrier goes from one strand to another, with what `here.local` is and
// will be. Set by the layer above, to the same each time.
extern std::atomic<void (*)(void* from, void* to)> strands_switch;

// ---- Waiting ------------------------------------------------------------------------------------

using Waiter = WaiterOf<RealWorld, Strand*>;

// Strands that wait for something to change. Whoever changes it calls wake_all() afterwards.
class WaitList {
 public:
  void push(Waiter& waiter) { waiters_.push(waiter); }
  // After the condition was changed. A fence and a load if nobody waits.
  void wake_all() {
    if (waiters_.has_waiters()) take_and_wake();
  }
  // By who has had a fence since, or need not wake anybody: a load if nobody waits.
  void wake_seen() {
    if (is_waited_for()) take_and_wake();
  }
  bool is_waited_for() const { return waiters_.seems_to_have_waiters(); }

 private:
  void take_and_wake();
  WaitStack<RealWorld, Strand*> waiters_;
};

// How long one who has nothing to do polls before it sleeps: while that costs nobody a core, and
// `limit` at most.
class Patience {
 public:
  // Pauses. False when it is time to sleep.
  bool wait();
  // It has slept.
  void note_sleep();
  void renew() {
    tries_ = 0;
    has_yielded_ = false;
    looks_at_ = 0;
  }

 private:
  bool goes_on(Nanoseconds waited);

  unsigned tries_ = 0;
  bool has_yielded_ = false;
  Nanoseconds began_ = 0, last_look_ = 0;
  Nanoseconds looks_at_ = 0;  // at who has cores, for the next time beyond the standard
};
// How long, in ns; 0: not at all.
extern constinit std::atomic<Nanoseconds> patience_limit;
// When the kernel was last asked to wake a carrier's thread.
extern constinit std::atomic<Nanoseconds> roused_at;

// Whether this carrier has anything to do but poll: woken strands, or calls under `under`. Looks at
// one other carrier each time.
bool has_other_work(Carrier& carrier, const Batch* under);
// What a waiting strand may do meanwhile.
struct Meanwhile {
  const Batch* under = nullptr;  // begins calls that descend from it; null: none
  bool pieces = false;           // has work() look again whenever `under` has pieces
  // Leaves calls of `under` beyond the carrier's share to others at first, if these are on their
  // way: for waits that end only once those have come.
  bool shares = false;
};

// Suspends the caller's strand, which is in a list, and does other things until it is woken, for
// this wait or for one around it; with `pieces`, or until there are any.
void suspend(const Meanwhile& meanwhile);

// For the watch: the carrier has gone from one thing to the next.
inline void step(Carrier& carrier) {
  carrier.steps.store(carrier.steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
// Whether strands of the carrier are ready, as far as can be seen: to others than its own thread a
// hint.
inline bool has_ready(const Carrier& carrier) {
  return carrier.ready.has_any() || carrier.woken.load(std::memory_order_relaxed);
}
// Whether some are, and it is time for them to go on first: once each time.
bool ready_are_due(Carrier& own);
void let_ready_run_if_due(Carrier& own);
// Between two pieces of work of the running strand: now and then the ready strands go on first.
// They wait by spinning, most of them, and what they wait for may long be there.
inline void let_ready_run_at_times() {
  if (has_ready(*here.carrier)) let_ready_run_if_due(*here.carrier);
}

// Begins the call that the watch wants this carrier to begin, `own.due`, if the caller's strand,
// which waits for `under`, may begin it. That one is in a list, or is `ready` and queues up.
bool begin_due_call(Carrier& own, const Batch* under, bool ready);
inline bool has_due_call(const Carrier& own) {
  return __builtin_expect(own.due.load(std::memory_order_relaxed) != nullptr, 0);
}

// Between the pieces of work of one strand, which are the program's own code in this library's name
// (tasks) and may go on for as long as the region does: the watch is told, ready strands go on at
// times, and seldom a call of `under` that nobody has begun: what the pieces are may be up to it
// (ult/PROTOCOL.md).
inline void pass_piece(const Batch* under) {
  Carrier& own = *here.carrier;
  step(own);
  let_ready_run_at_times();
  if (has_due_call(own)) begin_due_call(own, under, true);
}

// Waits until ready() holds. Who makes it hold wakes `list` afterwards. work() does a piece of work
// and says whether there was one; with `pieces`, it must find one whenever there are any.
template <class Ready, class Work>
void wait_until(WaitList& list, Meanwhile meanwhile, Ready&& ready, Work&& work) {
  Patience patience;
  Waiter waiter;
  for (;;) {
    if (ready()) break;
    if (work()) {
      patience.renew();
      pass_piece(meanwhile.under);
      continue;
    }
    if (!has_other_work(*here.carrier, meanwhile.under) && patience.wait()) continue;
    if (!waiter.is_listed()) {
      waiter.who = here.carrier->current;
      list.push(waiter);
      continue;  // looks once more at both [wait-1]
    }
    suspend(meanwhile);
  }
  // The record must be out of the list before it ceases to exist: whoever takes it out wakes us.
  while (waiter.is_listed()) {
    list.wake_all();
    if (waiter.is_listed()) suspend({});
  }
}
template <class Ready>
void wait_until(WaitList& list, Meanwhile meanwhile, Ready&& ready) {
  wait_until(list, meanwhile, ready, [] { return false; });
}

// Lets other strands of this carrier run that have been woken; else other threads of the node.
void yield();
// Lets a suspended strand run, before all others, if it is of this carrier.
void let_run_first(Strand* strand);

// ---- Batches and workers ------------------------------------------------------------------------

// Shows an open batch to carriers that have nothing to do; hide() before it is opened again. By the
// carrier that opened it. False if there is no room: its owner alone runs it.
bool show(Carrier& carrier, Batch& batch);
void hide(Carrier& carrier, Batch& batch);
// Whether a thread that is woken now finds a core: one is idle, or spinner_elsewhere().
bool core_to_spare();
// Cores on which calls of a batch can begin at once: the caller's, idle ones, and those of workers
// that listen awake.
unsigned cores_at_hand();
// Whether a core but the caller's is had by a thread of this process that waits by spinning outside
// all regions, or was a moment ago: it gives the core to whoever is woken (Roost rewrites its
// loop).
bool spinner_elsewhere();
// Now and then, by who found no core to spare: has Roost look whether threads outside all regions
// wait by spinning. True if there is none to ask, but it is time to: if a worker is woken all the
// same, Roost looks at the owner of the core that it waits for, who may have opened no region yet.
bool look_for_spinners();
// Wakes a sleeping carrier that may begin calls of the batch, if there is a core for it.
void call_for_help(const Batch& batch);
// Wakes a sleeping carrier that would do the batch's pieces of work, if there is a core for it.
// After `pieces` was set.
void call_for_pieces(const Batch& batch);

// Workers are carriers that wait for calls sent to them by name, and otherwise take what is open.
// They are made when they are first needed, and stay until they are dismissed.
// At least `count` workers, if the system has so many threads; returns how many there are. New ones
// block these signals, or those that the caller does.
unsigned ensure_workers(unsigned count, const std::uint64_t* blocked = nullptr);
// Ends those that listen, from the last to the first that does not; false if there is such a one.
// Any thread; others may open batches meanwhile.
bool dismiss_workers();
// Sends call `call` of the batch to a worker that listens. `even_asleep`: also to one that has to
// be woken. False if it does not listen.
bool send(unsigned worker, Batch& batch, unsigned call, bool even_asleep);
// Whether it would have to be woken.
bool asleep(unsigned worker);
// Whether it cannot take a call now, but soon: its thread begins, or it runs a call of `batch`, all
// of whose calls the caller knows to have done their work.
bool will_listen(unsigned worker, const Batch& batch);
// Workers that get the same calls of the same batch each time it is opened belong to it. claim() is
// false if the worker belongs to another.
bool claim(unsigned worker);
void unclaim(unsigned worker);
// Takes back what was sent and has not been begun. False if it has.
bool take_back(unsigned worker, Batch& batch, unsigned call);

// Says of which batch with light members the running strand executes a call (null: of none), for
// the case that it waits by spinning: siblings on its carrier then run, and calls of that batch, or
// those around it, are begun there. Returns what was said before.
const Batch* set_inside(const Batch* batch);
// What Roost calls in a strand that waits in code of the program or of libc (roost_light_threads);
// also in the middle of a signal handler, never in this library's own code. 0 if no
// other has run.
int light_event(int event);

// ---- The whole process --------------------------------------------------------------------------

// Carriers that are at work or polling; masters between their regions do not count.
extern constinit std::atomic<unsigned> active_carriers;
void count_in(Carrier& carrier);
void count_out(Carrier& carrier);
// By the carrier: its thread may sleep from now on, and does not count until somebody wakes it
// [sleep-1]; the caller looks once more at all it could be woken for.
void announce_sleep(Carrier& carrier);
// By the carrier: it is awake, for whatever reason.
void end_sleep(Carrier& carrier);

// Stacks of light threads and workers, in bytes; for those made later.
extern constinit std::atomic<std::size_t> light_stack_bytes;
// Of a light thread's, so much will do where there is no memory for more.
extern constinit std::atomic<std::size_t> least_light_stack_bytes;
extern constinit std::atomic<std::size_t> worker_stack_bytes;

// Around a fork: nobody is changing what the locks of this layer guard meanwhile.
void lock_before_fork();
void unlock_after_fork();
// After fork, in the child, instead of unlocking: the caller's strand is the only one. Neither the
// others of its carrier nor calls that had not begun go on here: they do in the parent.
void reset_after_fork();

}  // namespace roost::ult

// Carriers: the OS threads that light threads (strands) run on.
//
// A strand is a stack. Each OS thread that meets the runtime is a carrier; its own stack is its
// root strand, and it has others for calls of batches (ult/batch.h) that it begins while the one it
// is on waits. A strand never leaves its carrier, so addresses of thread-local variables stay
// what they were; calls that have not begun belong to nobody and go to whoever has time.
//
// Who waits does something else meanwhile, in this order: another strand of this carrier that has
// been woken; a call that nobody has begun, if it descends from the batch the waiting one names; and
// with nothing to do it polls for a while, then sleeps. Only descendants are begun: the waiting
// strand may hold what a stranger would spin for, and who never began holds nothing.
//
// The protocols (wake-ups, mail, sleep) are argued in ult/PROTOCOL.md; labels [wake-n], [mail-n].
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "ult/batch.h"
#include "ult/host.h"
#include "ult/memory.h"

namespace roost::ult {

struct Carrier;

struct Strand {
  void* stack_pointer = nullptr;  // while it is suspended
  Carrier* carrier = nullptr;
  Strand* next = nullptr;  // in a queue or a list: a strand is in one at a time
  void* local = nullptr;   // what the layer above keeps for it: `here.local` while it runs
  // The call it was begun for, and what it may begin after that.
  Batch* batch = nullptr;
  unsigned call = 0;
  const Batch* under = nullptr;
  Stack stack;
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

struct StrandQueue {
  Strand* first = nullptr;
  Strand* last = nullptr;
  void push(Strand* strand) {
    strand->next = nullptr;
    (last ? last->next : first) = strand;
    last = strand;
  }
  Strand* pop() {
    Strand* strand = first;
    if (strand && !(first = strand->next)) last = nullptr;
    return strand;
  }
};

// Open batches a carrier shows to others at a time; further ones wait for their owner.
inline constexpr unsigned kOpenBatches = 8;

struct alignas(kCoreStride) Carrier {
  // What others write.
  std::atomic<Strand*> woken{nullptr};   // a stack: strands that were made ready elsewhere
  std::atomic<std::uint64_t> mail{0};    // pool workers: see Mail
  Sleeper sleeper;
  std::atomic<const Batch*> hungry{nullptr};  // while it sleeps: what it may begin
  std::atomic<bool> wants_pieces{false};      // and whether it would do pieces of work of that batch

  // What it shows to others.
  alignas(kCoreStride) std::atomic<Batch*> open[kOpenBatches] = {};
  std::atomic<unsigned> n_open{0};

  // Its own.
  alignas(kCoreStride) Strand* current = nullptr;
  Strand root;
  StrandQueue ready;
  Strand* retired = nullptr;  // left by the switch under way: free once it is over
  Strand* spare = nullptr;    // stacks for calls to come
  unsigned index = 0;
  unsigned victim = 0;  // where it looked last for something to do
  unsigned glance = 0;  // and whether there is something
  bool counted = false;  // among the active ones
  void* user = nullptr;  // what the layer above keeps for the carrier
};

// The calling thread's carrier; makes it one at the first call. Never null.
Carrier& attach();
inline Carrier& carrier() { return here.carrier ? *here.carrier : attach(); }

// Called for each carrier that is about to end with its thread; set by the layer above.
extern void (*carrier_ends)(Carrier& carrier);

// ---- Waiting ------------------------------------------------------------------------------------

struct Waiter {
  Strand* strand = nullptr;
  Waiter* next = nullptr;
};

// Strands that wait for something to change. Whoever changes it calls wake_all() afterwards.
class WaitList {
 public:
  void push(Waiter& waiter) {
    Waiter* head = head_.load(std::memory_order_relaxed);
    do {
      waiter.next = head;
      // [wait-1] sequentially consistent: the waiter looks at its condition after this, the waker
      // at the list after it has changed the condition.
    } while (!head_.compare_exchange_weak(head, &waiter, std::memory_order_seq_cst));
  }
  // The condition was changed by a sequentially consistent operation, or a fence came after it.
  void wake_all() {
    if (head_.load(std::memory_order_seq_cst)) take_and_wake();
  }
  bool empty() const { return !head_.load(std::memory_order_relaxed); }

 private:
  void take_and_wake();
  std::atomic<Waiter*> head_{nullptr};
};

// How long one who has nothing to do polls before it sleeps: while that costs nobody a core, and
// `limit` at most.
class Patience {
 public:
  // Pauses. False when it is time to sleep.
  bool wait();
  void renew() { tries_ = 0; }

 private:
  unsigned tries_ = 0;
  Nanoseconds began_ = 0;
};
// How long, in ns; 0: not at all.
extern constinit std::atomic<Nanoseconds> patience_limit;

// Whether this carrier has anything to do but poll: woken strands, or calls under `under`. Looks at
// one other carrier each time.
bool has_other_work(Carrier& carrier, const Batch* under);
// Suspends the caller's strand, whose `waiter` is or was in a list, and does other things until it is
// woken: true. With `pieces`, false as soon as `under` has pieces of work for it.
bool suspend(Waiter& waiter, const Batch* under, bool pieces);

// What a waiting strand may do meanwhile.
struct Meanwhile {
  const Batch* under = nullptr;  // begins calls that descend from it; null: none
  bool pieces = false;           // has work() look again whenever `under` has pieces
};

// Waits until ready() holds. Who makes it hold wakes `list` afterwards. work() does a piece of work
// and says whether there was one; with `pieces`, it must find one whenever there are any.
template <class Ready, class Work>
void wait_until(WaitList& list, Meanwhile meanwhile, Ready&& ready, Work&& work) {
  Patience patience;
  Waiter waiter;
  bool awaits_wake = false;  // it was in the list, and has not been woken since
  for (;;) {
    if (ready()) break;
    if (work()) {
      patience.renew();
      continue;
    }
    if (!has_other_work(*here.carrier, meanwhile.under) && patience.wait()) continue;
    if (!awaits_wake) {
      awaits_wake = true;
      waiter.strand = here.carrier->current;
      list.push(waiter);
      continue;  // looks once more at both [wait-1]
    }
    if (suspend(waiter, meanwhile.under, meanwhile.pieces)) awaits_wake = false;
  }
  // The record must be out of the list before it ceases to exist: whoever takes it out wakes us.
  if (awaits_wake) {
    list.wake_all();
    suspend(waiter, nullptr, false);
  }
}
template <class Ready>
void wait_until(WaitList& list, Meanwhile meanwhile, Ready&& ready) {
  wait_until(list, meanwhile, ready, [] { return false; });
}

// Lets other strands of this carrier run that have been woken; else other threads of the node.
void yield();

// ---- Batches and workers ------------------------------------------------------------------------

// Shows an open batch to carriers that have nothing to do; hide() before it is opened again. By the
// carrier that opened it. False if there is no room: its owner alone runs it.
bool show(Carrier& carrier, Batch& batch);
void hide(Carrier& carrier, Batch& batch);
// Wakes a sleeping carrier that may begin calls of the batch, if there is a core for it.
void call_for_help(const Batch& batch);
// Wakes a sleeping carrier that would do the batch's pieces of work, if there is a core for it. After
// `pieces` was set.
void call_for_pieces(const Batch& batch);

// Workers are carriers that wait for calls sent to them by name, and otherwise take what is open.
// They are made when they are first needed, and stay.
// At least `count` workers, if the system has so many threads; returns how many there are.
unsigned ensure_workers(unsigned count);
// Sends call `call` of the batch to a worker that listens. `even_asleep`: also to one that has to be
// woken. False if it does not listen.
bool send(unsigned worker, Batch& batch, unsigned call, bool even_asleep);
// Whether it would have to be woken.
bool asleep(unsigned worker);
// Takes back what was sent and has not been begun. False if it has.
bool take_back(unsigned worker, Batch& batch, unsigned call);

// ---- The whole process --------------------------------------------------------------------------

// Carriers that are at work or polling; masters between their regions do not count.
extern constinit std::atomic<unsigned> active_carriers;
void count_in(Carrier& carrier);
void count_out(Carrier& carrier);

// Stacks of light threads and workers, in bytes; for those made later.
extern constinit std::atomic<std::size_t> light_stack_bytes;
extern constinit std::atomic<std::size_t> worker_stack_bytes;

// After fork, in the child: the caller's thread is the only one.
void reset_after_fork();

}  // namespace roost::ult

// What carriers do while their strands wait.
#include "ult/carrier.h"

#include <pthread.h>

#include "ult/carriers.h"
#include "ult/context.h"
#include "ult/kernel.h"

namespace roost::ult {

constinit thread_local Here here;
const Batch kAnything;
void (*strands_switch)(void* from, void* to) = nullptr;
constinit std::atomic<Nanoseconds> patience_limit{200'000};
constinit std::atomic<unsigned> active_carriers{0};
constinit std::atomic<std::size_t> light_stack_bytes{std::size_t{1} << 20};

void count_in(Carrier& carrier) {
  if (carrier.counted) return;
  carrier.counted = true;
  active_carriers.fetch_add(1, std::memory_order_relaxed);
}
void count_out(Carrier& carrier) {
  if (!carrier.counted) return;
  carrier.counted = false;
  active_carriers.fetch_sub(1, std::memory_order_relaxed);
}

// ---- Patience -----------------------------------------------------------------------------------

bool Patience::wait() {
  constexpr unsigned kLookEvery = 16;  // pauses between looks at others: about 0.4 us
  Nanoseconds limit = patience_limit.load(std::memory_order_relaxed);
  if (!limit) return false;
  cpu_pause();
  if (++tries_ % kLookEvery != 0) return true;
  if (host::others_wait()) return false;
  if (active_carriers.load(std::memory_order_relaxed) > host::cores()) return false;
  Nanoseconds now = kernel::now();
  if (tries_ == kLookEvery) began_ = now;
  return now - began_ < limit;
}

// ---- Switching ----------------------------------------------------------------------------------

namespace {

void make_ready(Strand* strand) {
  // [signal-1] If it is signalled already, it has not looked yet: it will see what we have changed.
  if (strand->signalled.exchange(true, std::memory_order_acq_rel)) return;
  Carrier& carrier = *strand->carrier;
  if (&carrier == here.carrier) {
    carrier.ready.push(strand);
    return;
  }
  Strand* head = carrier.woken.load(std::memory_order_relaxed);
  do {
    strand->next = head;
  } while (!carrier.woken.compare_exchange_weak(head, strand, std::memory_order_release,
                                                std::memory_order_relaxed));
  host::wake(carrier.sleeper);
}

// What was woken elsewhere, in the order of its waking, behind what is ready.
void collect_woken(Carrier& carrier) {
  if (!carrier.woken.load(std::memory_order_relaxed)) return;
  Strand* oldest = oldest_first(carrier.woken.exchange(nullptr, std::memory_order_acquire));
  while (oldest) {
    Strand* younger = oldest->next;
    carrier.ready.push(oldest);
    oldest = younger;
  }
}

// The next strand to go on, or null. It looks at what it waits for after this [signal-1].
Strand* next_ready(Carrier& carrier) {
  collect_woken(carrier);
  Strand* strand = carrier.ready.pop();
  if (strand) strand->signalled.exchange(false, std::memory_order_acq_rel);
  return strand;
}

// Puts the running strand behind the ready ones.
void queue_self(Carrier& carrier) {
  Strand* self = carrier.current;
  if (!self->signalled.exchange(true, std::memory_order_acq_rel)) carrier.ready.push(self);
}

// Forgets that the strand was woken, by a wait that is over: it must be in no queue when it is
// given a new call.
void settle(Carrier& carrier, Strand& strand) {
  while (strand.signalled.load(std::memory_order_acquire)) {
    collect_woken(carrier);  // whoever signals it is about to put it there
    StrandQueue others;
    while (Strand* ready = carrier.ready.pop()) {
      if (ready == &strand) {
        strand.signalled.store(false, std::memory_order_relaxed);
      } else {
        others.push(ready);
      }
    }
    carrier.ready = others;
    cpu_pause();
  }
}

void step(Carrier& carrier) {
  carrier.steps.store(carrier.steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void show_inside(Carrier& carrier) {
  auto* light = static_cast<volatile unsigned char*>(carrier.light);
  *light = carrier.current->inside != nullptr;
}

// On the new strand, right after a switch.
void arrive(Carrier& carrier) {
  if (Strand* retired = carrier.retired) {
    carrier.retired = nullptr;
    retired->next = carrier.spare;
    carrier.spare = retired;
  }
  step(carrier);
  show_inside(carrier);
}

void switch_to(Carrier& carrier, Strand* to) {
  Strand* from = carrier.current;
  if (__builtin_expect(strands_switch != nullptr, 0)) strands_switch(here.local, to->local);
  from->local = here.local;
  here.local = to->local;
  carrier.current = to;
  if (Exceptions* exceptions = carrier.exceptions) {
    from->exceptions = *exceptions;
    *exceptions = to->exceptions;
  }
  roost_ult_switch(&from->stack_pointer, to->stack_pointer);
  arrive(carrier);
}

struct Call {
  Batch* batch = nullptr;
  unsigned number = 0;
};

// Taken only if the batch still is the one that was looked at.
bool take_of(Batch& batch, const Batch* under, Call& call) {
  Tickets<RealWorld>::Word seen = batch.tickets.look();
  if (!Tickets<RealWorld>::left(seen) || !may_begin(under, batch)) return false;
  if (!batch.tickets.take_if(seen)) return false;
  call = {&batch, Tickets<RealWorld>::next(seen)};
  return true;
}

bool take_from(Carrier& owner, const Batch* under, Call& call) {
  if (!owner.n_open.load(std::memory_order_relaxed)) return false;
  // The innermost first: it ends soonest, and who waits for it goes on.
  for (unsigned i = kOpenBatches; i-- > 0;) {
    Batch* batch = owner.open[i].load(std::memory_order_acquire);
    if (batch && take_of(*batch, under, call)) return true;
  }
  return false;
}

bool anything_open(const Carrier& owner, const Batch* under) {
  if (!owner.n_open.load(std::memory_order_relaxed)) return false;
  for (const std::atomic<Batch*>& slot : owner.open) {
    Batch* batch = slot.load(std::memory_order_acquire);
    if (batch && batch->tickets.left() && may_begin(under, *batch)) return true;
  }
  return false;
}

// A call to begin: of this carrier's batches, or of another's. Looks at a few others at each try,
// going round.
bool find_call(Carrier& carrier, const Batch* under, Call& call) {
  if (!under) return false;
  // What is waited for itself may have found no room to be shown.
  if (under != &kAnything && take_of(*const_cast<Batch*>(under), under, call)) return true;
  if (take_from(carrier, under, call)) return true;
  constexpr unsigned kVictims = 4;
  unsigned n = carriers_count();
  for (unsigned tries = 0; tries < kVictims && tries < n; ++tries) {
    carrier.victim = carrier.victim + 1 < n ? carrier.victim + 1 : 0;
    Carrier* other = carrier_at(carrier.victim);
    if (other != &carrier && take_from(*other, under, call)) return true;
  }
  return false;
}

// Whether the next carrier in turn has a call to begin.
bool something_elsewhere(Carrier& carrier, const Batch* under) {
  unsigned n = carriers_count();
  carrier.glance = carrier.glance + 1 < n ? carrier.glance + 1 : 0;
  return anything_open(*carrier_at(carrier.glance), under);
}

// Whether anybody has a call to begin; looks at all, before a sleep.
bool any_call(const Batch* under) {
  if (!under) return false;
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n; ++i)
    if (anything_open(*carrier_at(i), under)) return true;
  return false;
}

void strand_main(void* argument);

Strand* fresh_strand(Carrier& carrier) {
  if (Strand* strand = carrier.spare) {
    carrier.spare = strand->next;
    return strand;
  }
  auto* strand = permanent_array<Strand>(1);
  if (!strand) out_of_memory("a light thread");
  new (strand) Strand;
  strand->carrier = &carrier;
  strand->stack = map_stack(light_stack_bytes.load(std::memory_order_relaxed));
  if (!strand->stack.low) out_of_memory("the stack of a light thread");
  strand->stack_pointer = prepare_context(strand->stack.top(), strand_main, strand);
  return strand;
}

void begin_on_fresh_strand(Carrier& carrier, const Call& call, const Batch* under) {
  Strand* strand = fresh_strand(carrier);
  strand->batch = call.batch;
  strand->call = call.number;
  strand->under = under;
  strand->local = nullptr;
  strand->exceptions = {};
  strand->inside = nullptr;
  switch_to(carrier, strand);
}

// Nothing to do: polls, then sleeps until there may be something.
void idle(Carrier& carrier, const Batch* under, bool pieces, Patience& patience) {
  if (patience.wait()) return;
  carrier.hungry.store(under, std::memory_order_relaxed);
  carrier.wants_pieces.store(pieces, std::memory_order_relaxed);
  carrier.sleeper.thread.store(host::own_thread(), std::memory_order_relaxed);
  sleeping_carriers.fetch_add(1, std::memory_order_relaxed);
  carrier.sleeper.word.announce();  // [sleep-1] [open-1]
  bool counted = carrier.counted;
  count_out(carrier);
  bool something = carrier.woken.load(std::memory_order_seq_cst) ||
                   (under && under->tickets.left()) ||
                   Mail(carrier.mail.load(std::memory_order_seq_cst)).is_call() ||
                   (pieces && under->pieces.load(std::memory_order_seq_cst)) || any_call(under);
  if (something) {
    carrier.sleeper.word.cancel();
  } else {
    host::sleep(carrier.sleeper);
  }
  if (counted) count_in(carrier);
  sleeping_carriers.fetch_sub(1, std::memory_order_relaxed);
  carrier.hungry.store(nullptr, std::memory_order_relaxed);
  patience.renew();
}

// The next call for a strand that has done its own, in place; switches to woken strands first, and
// then returns when the strand was given a new call.
void next_call(Carrier& carrier, Strand& strand) {
  Patience patience;
  settle(carrier, strand);
  for (;;) {
    if (Strand* woken = next_ready(carrier)) {
      carrier.retired = &strand;
      switch_to(carrier, woken);
      return;
    }
    Call call;
    if (find_call(carrier, strand.under, call)) {
      strand.batch = call.batch;
      strand.call = call.number;
      return;
    }
    bool pieces = strand.under && strand.under->assist;
    if (pieces && strand.under->pieces.load(std::memory_order_relaxed))
      strand.under->assist(strand.under);
    idle(carrier, strand.under, pieces, patience);
  }
}

void strand_main(void* argument) {
  Strand& strand = *static_cast<Strand*>(argument);
  Carrier& carrier = *strand.carrier;
  arrive(carrier);
  for (;;) {
    strand.batch->run(strand.batch, strand.call);
    next_call(carrier, strand);
  }
}

}  // namespace

// ---- Waiting ------------------------------------------------------------------------------------

void WaitList::take_and_wake() {
  waiters_.take_all([](Strand* strand) { make_ready(strand); });
}

bool has_other_work(Carrier& carrier, const Batch* under) {
  return carrier.ready.first || carrier.woken.load(std::memory_order_relaxed) ||
         (under && (under->tickets.left() || anything_open(carrier, under) ||
                    something_elsewhere(carrier, under)));
}

void suspend(const Batch* under, bool pieces) {
  Carrier& carrier = *here.carrier;
  Strand* self = carrier.current;
  Patience patience;
  for (;;) {
    Call call;
    // Calls and pieces of the batch that is waited for come first: once this strand is suspended,
    // its carrier may have only strands that may not begin them, and so may all others.
    if (pieces && under->pieces.load(std::memory_order_relaxed)) return;
    if (under && under != &kAnything && take_of(*const_cast<Batch*>(under), under, call)) {
      begin_on_fresh_strand(carrier, call, under);
      return;
    }
    if (Strand* woken = next_ready(carrier)) {
      if (woken != self) switch_to(carrier, woken);
      return;  // either way this strand was taken from the ready ones
    }
    if (find_call(carrier, under, call)) {
      begin_on_fresh_strand(carrier, call, under);
      return;
    }
    idle(carrier, under, pieces, patience);
  }
}

const Batch* set_inside(const Batch* batch) {
  Carrier& own = *here.carrier;
  const Batch* before = own.current->inside;
  own.current->inside = batch;
  step(own);
  show_inside(own);
  return before;
}

int let_other_run() {
  Carrier* own = here.carrier;
  if (!own) return 0;
  Strand* self = own->current;
  if (self->inside) self->inside->spins.store(true, std::memory_order_relaxed);
  // Calls first: all strands of a team that spins are ready all the time.
  for (const Batch* batch = self->inside; batch;
       batch = batch->parent.load(std::memory_order_relaxed)) {
    Call call;
    if (!find_call(*own, batch, call)) continue;
    queue_self(*own);
    begin_on_fresh_strand(*own, call, batch);
    return 1;
  }
  Strand* woken = next_ready(*own);
  if (woken == self) woken = next_ready(*own);
  if (!woken) return 0;
  queue_self(*own);
  switch_to(*own, woken);
  return 1;
}

void yield() {
  Carrier& own = carrier();
  Strand* woken = next_ready(own);
  if (woken == own.current) woken = next_ready(own);
  if (woken) {
    queue_self(own);
    switch_to(own, woken);
    return;
  }
  host::yield();
}

// ---- Workers ------------------------------------------------------------------------------------

// What a worker's thread does all its life: calls sent to it, and calls of open batches.
void work_for_ever(Carrier& carrier) {
  Patience patience;
  count_in(carrier);
  carrier.mail.store(Mail::kListening, std::memory_order_seq_cst);
  for (;;) {
    Strand* woken = next_ready(carrier);
    if (woken && woken != &carrier.root) {
      // A strand of this carrier that waited while the root had nothing.
      std::uint64_t listening = Mail::kListening;
      bool quiet = carrier.mail.compare_exchange_strong(listening, Mail::kBusy);
      queue_self(carrier);
      switch_to(carrier, woken);
      if (quiet) carrier.mail.store(Mail::kListening, std::memory_order_seq_cst);
      patience.renew();
      continue;
    }
    Mail mail(carrier.mail.load(std::memory_order_acquire));
    if (mail.is_call()) {
      std::uint64_t expected = mail.word;
      if (carrier.mail.compare_exchange_strong(expected, mail.word | Mail::kRunning,
                                               std::memory_order_acquire)) {
        mail.batch()->run(mail.batch(), mail.call());
        carrier.mail.store(Mail::kListening, std::memory_order_seq_cst);
      }
      patience.renew();
      continue;
    }
    Call call;
    std::uint64_t listening = Mail::kListening;
    if (something_elsewhere(carrier, &kAnything) &&
        carrier.mail.compare_exchange_strong(listening, Mail::kBusy, std::memory_order_acquire)) {
      bool found = find_call(carrier, &kAnything, call);
      if (found) call.batch->run(call.batch, call.number);
      carrier.mail.store(Mail::kListening, std::memory_order_seq_cst);
      if (found) {
        patience.renew();
        continue;
      }
    }
    idle(carrier, &kAnything, false, patience);
  }
}

}  // namespace roost::ult

// Ready strands, switching between them, and strands of their own for calls.
#include "ult/strands.h"

#include "base/ticks.h"
#include "ult/context.h"
#include "ult/kernel.h"
#include "ult/overflow.h"
#include "ult/thread_data.h"

namespace roost::ult {

constinit std::atomic<void (*)(void* from, void* to)> strands_switch{nullptr};
constinit std::atomic<std::size_t> light_stack_bytes{std::size_t{8} << 20};
constinit std::atomic<std::size_t> least_light_stack_bytes{std::size_t{1} << 20};

// ---- Ready strands ------------------------------------------------------------------------------

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

void collect_woken(Carrier& carrier) {
  if (!carrier.woken.load(std::memory_order_relaxed)) return;
  Strand* oldest = oldest_first(carrier.woken.exchange(nullptr, std::memory_order_acquire));
  while (oldest) {
    Strand* younger = oldest->next;
    carrier.ready.push(oldest);
    oldest = younger;
  }
}

Strand* pop_ready(Carrier& carrier) {
  while (Strand* strand = carrier.ready.pop()) {
    if (!strand->free) return strand;
    went_on(*strand);  // [signal-2]
  }
  return nullptr;
}

Strand* next_ready(Carrier& carrier) {
  collect_woken(carrier);
  Strand* strand = pop_ready(carrier);
  if (strand) went_on(*strand);
  return strand;
}

void queue_self(Carrier& carrier) {
  Strand* self = carrier.current;
  if (!self->signalled.exchange(true, std::memory_order_acq_rel)) carrier.ready.push(self);
}

void WaitList::take_and_wake() {
  waiters_.take_all([](Strand* strand) { make_ready(strand); });
}

// ---- Switching ----------------------------------------------------------------------------------

void show_running(Carrier& carrier) {
  const Strand* strand = carrier.current;
  volatile struct roost_light& light = *carrier.light;  // of others' code on this thread
  // A member that has begun before its team was found to be light has siblings all the same.
  light.flag = carrier.live ? 2 : strand->inside ? 1 : 0;
  light.self = strand == &carrier.root ? nullptr : strand;
  carrier.inside.store(strand->inside, std::memory_order_release);  // [watch-2]
}

namespace {

// On the new strand, right after a switch.
void arrive(Carrier& carrier) {
  if (Strand* retired = carrier.retired) {
    carrier.retired = nullptr;
    retired->next_spare = carrier.spare;
    carrier.spare = retired;
  }
  step(carrier);
  show_running(carrier);
}

}  // namespace

void switch_to(Carrier& carrier, Strand* to) {
  int error = *carrier.error;
  Strand* from = carrier.current;
  if (auto tell = strands_switch.load(std::memory_order_relaxed);
      __builtin_expect(tell != nullptr, 0))
    tell(here.local, to->local);
  from->local = here.local;
  here.local = to->local;
  carrier.current = to;
  if (!to->blocked) ++carrier.progress;
  if (Exceptions* exceptions = carrier.exceptions) {
    from->exceptions = *exceptions;
    *exceptions = to->exceptions;
  }
  exchange_thread_data(*from, *to);
  if (sanitizer::present()) {
    sanitizer::switch_to(carrier, *from, *to);
  } else {
    roost_ult_switch(&from->stack_pointer, to->stack_pointer);
  }
  // A stack that was spare may go on as another thread's: whose errno it is, is asked anew.
  *carrier.error = error;
  arrive(carrier);
}

bool let_ready_run(Carrier& carrier) {
  Strand* ready = next_ready(carrier);
  // Woken for a wait around this one, and perhaps once more meanwhile: one that has never been left
  // has no context to go on with.
  while (ready == carrier.current) ready = next_ready(carrier);
  if (!ready) return false;
  queue_self(carrier);
  switch_to(carrier, ready);
  return true;
}

bool ready_are_due(Carrier& own) {
  constexpr std::uint64_t kEvery = 1'000'000;  // ticks: 0.2 to 1 ms
  if (!has_ready(own)) return false;
  std::uint64_t now = ticks();
  if (now - own.ready_due < kEvery) return false;
  own.ready_due = now;
  return true;
}

void let_ready_run_if_due(Carrier& own) {
  if (ready_are_due(own)) let_ready_run(own);
}

void let_run_first(Strand* strand) {
  constexpr unsigned kPauses = 100;  // a few microseconds
  Carrier& own = *here.carrier;
  if (strand->carrier != &own) return;
  if (!strand->signalled.exchange(true, std::memory_order_acq_rel)) {
    own.ready.push_first(strand);
    let_ready_run(own);
    return;
  }
  // Whoever signalled it elsewhere is about to hand it over.
  for (unsigned pauses = 0; pauses < kPauses; ++pauses) {
    collect_woken(own);
    if (own.ready.move_to_front(strand)) {
      let_ready_run(own);
      return;
    }
    cpu_pause();
  }
}

// ---- Strands for calls --------------------------------------------------------------------------

namespace {

// The next call for a strand that has done its own, in place; switches to woken strands first, and
// then returns when the strand was given a new call.
void next_call(Carrier& carrier, Strand& strand) {
  Patience patience;
  strand.free = true;
  for (;;) {
    if (Strand* woken = next_ready(carrier)) {
      carrier.retired = &strand;
      --carrier.live;
      switch_to(carrier, woken);
      return;
    }
    Call call;
    if (find_call(carrier, strand.under, call)) {
      strand.batch = call.batch;
      strand.call = call.number;
      strand.free = false;
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
  fibre_begins(carrier);
  arrive(carrier);
  for (;;) {
    strand.batch->run(strand.batch, strand.call);
    next_call(carrier, strand);
  }
}

Stack map_light_stack() {
  std::size_t bytes = light_stack_bytes.load(std::memory_order_relaxed);
  std::size_t least = least_light_stack_bytes.load(std::memory_order_relaxed);
  Stack stack = map_stack(bytes);
  while (!stack.low && bytes > least) {
    bytes = bytes / 2 > least ? bytes / 2 : least;
    stack = map_stack(bytes);
    light_stack_bytes.store(bytes, std::memory_order_relaxed);
  }
  if (!stack.low) out_of_memory("the stack of a light thread");
  return stack;
}

Strand* fresh_strand(Carrier& carrier) {
  if (__builtin_expect(!carrier.watched_for_overflow, 0)) watch_for_overflow(carrier);
  if (Strand* strand = carrier.spare) {
    carrier.spare = strand->next_spare;
    strand->free = false;
    return strand;
  }
  auto* strand = permanent_array<Strand>(1);
  if (!strand) out_of_memory("a light thread");
  new (strand) Strand;
  strand->carrier = &carrier;
  strand->stack = map_light_stack();
  introduce_stack(strand->stack);
  strand->stack_pointer = prepare_context(strand->stack.top(), strand_main, strand);
  return strand;
}

}  // namespace

void begin_on_fresh_strand(Carrier& carrier, const Call& call, const Batch* under) {
  // A call that was begun before its batch was found to be light has siblings from now on.
  Strand* self = carrier.current;
  if (!self->inside && under != &kAnything) self->inside = under;
  Strand* strand = fresh_strand(carrier);
  strand->batch = call.batch;
  strand->call = call.number;
  strand->under = under;
  strand->local = nullptr;
  strand->exceptions = {};
  for (void*& value : strand->thread_data) value = nullptr;
  strand->inside = nullptr;
  ++carrier.live;
  switch_to(carrier, strand);
}

bool begin_due_call(Carrier& own, const Batch* under, bool ready) {
  Batch* due = own.due.load(std::memory_order_acquire);
  Call call;
  if (!due || !take_of(*due, under, call)) return false;
  own.due.store(nullptr, std::memory_order_relaxed);
  if (!due->tickets.left()) due->last_due.store(kernel::now(), std::memory_order_relaxed);
  if (ready) queue_self(own);
  begin_on_fresh_strand(own, call, due);
  return true;
}

void suspend(const Meanwhile& meanwhile) {
  constexpr Nanoseconds kAWhile = 2'000'000;  // a thread that sleeps comes in 0.1 to 1 ms
  const Batch* under = meanwhile.under;
  Carrier& carrier = *here.carrier;
  Strand* self = carrier.current;
  Patience patience;
  for (;;) {
    Call call;
    if (has_due_call(carrier) && begin_due_call(carrier, under, false)) return;
    // Calls and pieces of the batch that is waited for come first: once this strand is suspended,
    // its carrier may have only strands that may not begin them, and so may all others.
    if (meanwhile.pieces && under->pieces.load(std::memory_order_relaxed)) return;
    bool begins = !meanwhile.shares || !leaves_rest(carrier, *under, kAWhile);
    if (begins && under && under != &kAnything &&
        take_of(*const_cast<Batch*>(under), under, call)) {
      begin_on_fresh_strand(carrier, call, under);
      return;
    }
    if (Strand* woken = next_ready(carrier)) {
      if (woken != self) switch_to(carrier, woken);
      return;  // either way this strand was taken from the ready ones
    }
    if (begins && find_call(carrier, under, call)) {
      begin_on_fresh_strand(carrier, call, under);
      return;
    }
    idle(carrier, under, meanwhile.pieces, patience);
  }
}

}  // namespace roost::ult

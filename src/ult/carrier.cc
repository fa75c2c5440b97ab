// What carriers do when they have nothing to run.
#include "ult/carrier.h"

#include "ult/carriers.h"
#include "ult/crowding.h"
#include "ult/interrupt.h"
#include "ult/kernel.h"
#include "ult/strands.h"

namespace roost::ult {

constinit thread_local Here here;
const Batch kAnything;
constexpr Nanoseconds kStandardPatience = 200'000;
constinit std::atomic<Nanoseconds> patience_limit{kStandardPatience};
constinit std::atomic<Nanoseconds> roused_at{0};
constinit std::atomic<unsigned> active_carriers{0};

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

void announce_sleep(Carrier& carrier) {
  carrier.counted_before = carrier.counted;
  count_out(carrier);
  carrier.sleeper.word.announce(carrier.counted_before ? kAsleepFromWork : kAsleep);
}
void end_sleep(Carrier& carrier) {
  // Else whoever woke it has counted it.
  if (carrier.sleeper.word.cancel() == kAsleepFromWork)
    active_carriers.fetch_add(1, std::memory_order_relaxed);
  carrier.counted |= carrier.counted_before;
  carrier.counted_before = false;
}

// ---- Patience -----------------------------------------------------------------------------------

namespace {

// Where others want the CPUs; unless the program has said how long waits are to be.
constexpr Nanoseconds kShortPatience = 4'000;
constinit Crowding crowding;

constexpr unsigned kLookEvery = 16;  // pauses between looks at others: about 0.4 us

}  // namespace

bool Patience::wait() {
  constexpr unsigned kYieldEvery = 8 * kLookEvery;
  constexpr Nanoseconds kSpread = 1'000'000;  // in which the kernel puts threads on CPUs apart
  Nanoseconds limit = patience_limit.load(std::memory_order_relaxed);
  if (!limit) return false;
  cpu_pause();
  if (++tries_ % kLookEvery != 0) return true;
  if (host::others_wait()) {
    // Those it waits for may only need a turn: once, then it sleeps until it is woken.
    if (has_yielded_) return false;
    has_yielded_ = true;
    host::yield();
    return true;
  }
  bool yielded = active_carriers.load(std::memory_order_relaxed) > host::cores();
  if (yielded) {
    // Under Roost they would wait for a core, and others_wait().
    if (host::with_roost()) return false;
    kernel::yield();
  }
  Nanoseconds now = kernel::now();
  if (tries_ == kLookEvery) began_ = now;
  if (tries_ == kLookEvery || yielded) last_look_ = now;
  if (limit == kStandardPatience && !host::with_roost() && crowding.look(now, last_look_))
    limit = kShortPatience;
  last_look_ = now;
  // Who was woken may stand behind us on this CPU, or we behind him: some kernels pack threads.
  if (tries_ % kYieldEvery == 0 && now - roused_at.load(std::memory_order_relaxed) < kSpread) {
    kernel::yield();
    last_look_ = kernel::now();
  }
  if (now - began_ < limit) return true;
  return limit == kStandardPatience && goes_on(now - began_);
}

// Beyond the standard: as long as the pauses it knows, while no other process is about.
bool Patience::goes_on(Nanoseconds waited) {
  constexpr Nanoseconds kLook = 100'000;
  if (waited >= Pauses::kLongest || !here.carrier || !here.carrier->pauses.are_short())
    return false;
  if (waited < looks_at_) return true;
  looks_at_ = waited + kLook;
  return !host::others_have_cores();
}

void Patience::note_sleep() {
  if (tries_ < kLookEvery || !here.carrier) return;
  here.carrier->pauses.add(kernel::now() - began_);
}

// ---- Idling -------------------------------------------------------------------------------------

namespace {

// A worker that was dismissed, of which nobody waits.
bool may_leave(const Carrier& carrier) {
  return carrier.mail.load(std::memory_order_seq_cst) == Mail::kLeaving && !carrier.live;
}

}  // namespace

void idle(Carrier& carrier, const Batch* under, bool pieces, Patience& patience) {
  if (patience.wait()) return;
  carrier.hungry.store(under, std::memory_order_relaxed);
  carrier.wants_pieces.store(pieces, std::memory_order_relaxed);
  carrier.sleeper.thread.store(host::own_thread(), std::memory_order_relaxed);
  sleeping_carriers.fetch_add(1, std::memory_order_relaxed);
  announce_sleep(carrier);  // [sleep-1] [open-1]
  bool something =
      carrier.woken.load(std::memory_order_seq_cst) || (under && under->tickets.left()) ||
      Mail(carrier.mail.load(std::memory_order_seq_cst)).is_call() || may_leave(carrier) ||
      (pieces && under->pieces.load(std::memory_order_seq_cst)) || any_call(under);
  if (!something) {
    InRuntime in_runtime;
    host::sleep(carrier.sleeper);
    patience.note_sleep();
  }
  end_sleep(carrier);
  sleeping_carriers.fetch_sub(1, std::memory_order_relaxed);
  carrier.hungry.store(nullptr, std::memory_order_relaxed);
  patience.renew();
}

const Batch* set_inside(const Batch* batch) {
  Carrier& own = *here.carrier;
  const Batch* before = own.current->inside;
  own.current->inside = batch;
  step(own);
  show_running(own);
  return before;
}

void yield() {
  constexpr std::uint32_t kOthersEvery = 32;  // strands that yield to each other keep the core
  Carrier& own = carrier();
  if (++own.yields % kOthersEvery && let_ready_run(own)) return;
  host::yield();
}

// ---- Workers ------------------------------------------------------------------------------------

// Calls sent to it, and calls of open batches.
void work(Carrier& carrier) {
  Patience patience;
  count_in(carrier);
  carrier.mail.store(Mail::kListening, std::memory_order_seq_cst);
  while (!may_leave(carrier)) {
    Strand* woken = next_ready(carrier);
    if (woken && woken->blocked && Mail(carrier.mail.load(std::memory_order_relaxed)).is_call()) {
      make_ready(woken);  // what was sent comes first: the other may wait for long
      woken = nullptr;
    }
    if (woken && woken != &carrier.root) {
      // A strand of this carrier that waited while the root had nothing.
      std::uint64_t listening = Mail::kListening;
      bool quiet = carrier.mail.compare_exchange_strong(listening, Mail::kBusy);
      // It has nothing to do until another strand has gone on, like one that is blocked.
      carrier.root.blocked = true;
      carrier.root.looked = carrier.progress;
      queue_self(carrier);
      switch_to(carrier, woken);
      carrier.root.blocked = false;
      if (quiet) carrier.mail.store(Mail::kListening, std::memory_order_seq_cst);
      patience.renew();
      continue;
    }
    Mail mail(carrier.mail.load(std::memory_order_acquire));
    if (mail.is_call()) {
      mail.batch()->prefetch_for_call();
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
  carrier.mail.store(Mail::kBusy, std::memory_order_relaxed);
}

}  // namespace roost::ult

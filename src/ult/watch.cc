// Looks for carriers that are stuck in one strand.
#include "ult/watch.h"

#include <ctime>

#include "ult/carriers.h"
#include "ult/interrupt.h"
#include "ult/kernel.h"

namespace roost::ult {
namespace {

constexpr Nanoseconds kTick = 2'000'000;
constexpr unsigned kCalmTicks = 4;              // so many in a row have a longer one follow,
constexpr unsigned kMostDoubled = 2;            // twice as long each time, at most so often
constexpr Nanoseconds kSoon = 250'000;          // after a request, seldom the last one,
constexpr unsigned kSoonTicks = 8;              // so often
constexpr Nanoseconds kQuiet = 100'000'000;     // without light strands before it sleeps
constexpr Nanoseconds kSuspicious = 1'000'000;  // CPU time a strand has used at a stretch: asked
constexpr Nanoseconds kHopeless = 8'000'000;    // and where asking has not helped,
constexpr Nanoseconds kComputes = 256'000'000;  // and where it is known to compute
constexpr Nanoseconds kGoesOn = 64'000'000;     // CPU time a carrier goes on and leaves calls, and
constexpr Nanoseconds kGoesOnStill = 1'000'000'000;  // once it has been told of them
constexpr Nanoseconds kAsleep = 20'000'000;          // time a thread sleeps inside a batch,
constexpr unsigned kAsleepLooks = 5;                 // at so many looks in a row
constexpr Nanoseconds kRarest = 64'000'000;          // CPU time between requests
constexpr unsigned kMaxWatched = 1024;               // carriers
constexpr std::size_t kStack = 64 * 1024;

enum class State : std::uint32_t { none, awake, asleep };
constinit std::atomic<State> state{State::none};
// Signals that the thread blocked for whom the watch began, as do workers that this makes.
constinit std::uint64_t blocked_by_program = 0;

// A carrier that has not gone on: since when, by the CPU time of its thread and by the clock. One
// that had no CPU is not stuck.
struct Seen {
  std::uint32_t steps;
  Nanoseconds used;
  Nanoseconds at;
  Nanoseconds last_used;  // at the last look, and since when it was that
  Nanoseconds still_since;
  Nanoseconds ask_at;              // CPU time to be spent before it is asked again
  unsigned asleep_looks;           // how many in a row have found it asleep
  bool slept_here;                 // one of those, in this library
  const Batch* told;               // whose calls others were told of because of it, and
  Tickets<RealWorld>::Word round;  // in which round; null: none
};
Seen seen[kMaxWatched];

// Calls that a carrier leaves which goes from one thing to the next, and had used so much CPU time
// when there was one more of them, or when something was done about it.
struct Left {
  const Batch* batch;
  Tickets<RealWorld>::Word tickets;
  std::uint32_t steps;
  Nanoseconds used;
  bool told;  // it was to begin one itself
};
// Of the innermost batch that has some, and of the outermost: inner ones come and go.
struct {
  Left inner, outer;
} left[kMaxWatched];

Seen first_sight(std::uint32_t steps, Nanoseconds used, Nanoseconds now) {
  return {steps, used, now, used, now, kSuspicious, 0, false, nullptr, 0};
}

// Others were told of calls for nothing if it has gone on and some are left.
void learn_from_going_on(const Seen& it) {
  if (!it.told) return;
  auto tickets = it.told->tickets.look();
  if (Tickets<RealWorld>::left(tickets) && Tickets<RealWorld>::round(tickets) == it.round)
    it.told->computes.store(true, std::memory_order_relaxed);
}

// The batch, or one of those around it, that has calls which nobody has begun; null if there is
// none.
const Batch* with_open_calls(const Batch* batch) {
  while (batch && !batch->tickets.left()) batch = batch->parent.load(std::memory_order_relaxed);
  return batch;
}

const Batch* outermost_with_open_calls(const Batch* open) {
  const Batch* found = open;
  while ((open = with_open_calls(open->parent.load(std::memory_order_relaxed)))) found = open;
  return found;
}

// Under Roost: has no core to go on with.
bool is_ready(const Carrier& carrier) {
  return host::is_ready(carrier.thread.load(std::memory_order_relaxed));
}

// In a call that does not let siblings run. Seen at several looks: to the kernel, who waits for a
// core sleeps as well, and so does one that has just been granted it.
bool sleeps_long(const Carrier& carrier, Seen& it, Nanoseconds now) {
  if (now - it.at < kAsleep / 2) return false;
  bool asleep = !is_ready(carrier) && kernel::is_asleep(tid_of(carrier));
  it.asleep_looks = asleep ? it.asleep_looks + 1 : 0;
  it.slept_here |= carrier.sleeper.word.is_set();
  return it.asleep_looks >= kAsleepLooks && now - it.at >= kAsleep;
}

// Lets any carrier begin the batch's calls. (It may have ended, and be open again: then it is shown
// for no good reason, which does no harm.)
void show_overdue(Carrier& carrier, const Batch* batch) {
  carrier.overdue.store(const_cast<Batch*>(batch), std::memory_order_release);
}

void hide_what_is_begun(Carrier& carrier) {
  Batch* batch = carrier.overdue.load(std::memory_order_relaxed);
  if (batch && !batch->tickets.left()) show_overdue(carrier, nullptr);
  batch = carrier.due.load(std::memory_order_relaxed);
  if (batch && !batch->tickets.left()) carrier.due.store(nullptr, std::memory_order_relaxed);
}

// It finds a call by itself, if not the one that is needed here.
void wake_or_add_worker() {
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n; ++i) {
    Carrier& carrier = *carrier_at(i);
    if (carrier.hungry.load(std::memory_order_relaxed) != &kAnything) continue;
    if (!carrier.sleeper.word.is_set()) continue;
    host::wake(carrier.sleeper);
    return;
  }
  ensure_workers(workers_count() + 1, &blocked_by_program);
}

void let_others_begin(Carrier& carrier, const Batch* open) {
  open->kept.store(true, std::memory_order_relaxed);
  show_overdue(carrier, open);
  wake_or_add_worker();
}

// What the carrier does may be up to a call that it leaves for long: it is to begin one itself, on
// a stack of its own. If it does not come to that, as it is not what it waits for, others do.
// Whether anything was done.
bool press_if_left_for_long(Carrier& carrier, Left& it, const Batch* open, std::uint32_t steps,
                            Nanoseconds used) {
  auto tickets = open->tickets.look();
  if (it.batch != open || it.tickets != tickets || used < it.used)
    it = {open, tickets, steps, used, false};
  Nanoseconds long_enough =
      it.told ? kGoesOnStill : kGoesOn << open->patience.load(std::memory_order_relaxed);
  if (steps == it.steps || used - it.used < long_enough) return false;
  if (it.told) {
    let_others_begin(carrier, open);
  } else {
    carrier.due.store(const_cast<Batch*>(open), std::memory_order_release);
  }
  it = {open, tickets, steps, used, true};
  return true;
}

// Strands or pieces of work that the running strand keeps from going on.
bool keeps_others(const Carrier& carrier, const Batch& inside) {
  return has_ready(carrier) || inside.pieces.load(std::memory_order_relaxed);
}

// The longer it has used the CPU, the less it looks like a wait.
void ask_less_often(Seen& it, Nanoseconds spent) {
  it.ask_at = spent + (spent < kRarest ? spent : kRarest);
}

// Where members are known to wait unseen, not much time is lost.
bool is_time_to_ask(const Seen& it, Nanoseconds spent, bool known) {
  return spent >= (known && it.ask_at == kSuspicious ? kSoon : it.ask_at);
}

// Without Roost. True if the thread was asked.
bool ask(const Carrier& carrier, const Batch& inside, Seen& it, Nanoseconds spent,
         Nanoseconds now) {
  bool known = inside.blocks.load(std::memory_order_relaxed);
  Nanoseconds still = now - it.still_since;
  if (is_time_to_ask(it, spent, known)) {
    ask_less_often(it, spent);
    return interrupt_running(carrier);
  }
  if (still < (known ? kSoon : kTick)) return false;
  return interrupt_sleeping(carrier, known || still >= kAsleep);
}

struct Found {
  bool any;      // strands inside light batches
  bool asked;    // one of them
  bool waiting;  // one of them may wait: it does not go on, for all one knows, and keeps others
};

Found look() {
  Found found{};
  unsigned n = carriers_count();
  Nanoseconds now = kernel::now();
  for (unsigned i = 0; i < n && i < kMaxWatched; ++i) {
    Carrier& carrier = *carrier_at(i);
    hide_what_is_begun(carrier);
    const Batch* inside = carrier.inside.load(std::memory_order_acquire);  // [watch-2]
    if (!inside) continue;
    found.any = true;
    Seen& it = seen[i];
    std::uint32_t steps = carrier.steps.load(std::memory_order_relaxed);
    Nanoseconds used = kernel::cpu_time(tid_of(carrier));
    if (steps != it.steps || used < it.used) {
      learn_from_going_on(it);
      it = first_sight(steps, used, now);
    }
    if (used != it.last_used) {
      it.last_used = used;
      it.still_since = now;
    }
    Nanoseconds spent = used - it.used;
    bool is_still_there = it.at != now && !is_ready(carrier);
    bool keeps = keeps_others(carrier, *inside);
    found.waiting |= is_still_there && keeps;
    if (!host::with_roost() && keeps && ask(carrier, *inside, it, spent, now)) {
      found.asked = true;
    }
    bool known = inside->spins.load(std::memory_order_relaxed);
    if (host::with_roost() && is_time_to_ask(it, spent, known)) {
      found.asked |= known;
      ask_less_often(it, spent);
      // It has computed for a while: it is hardly about to begin a call.
      if (spent < kHopeless || keeps || with_open_calls(inside))
        host::suspect_sharing(carrier.thread.load(std::memory_order_relaxed));
    }
    const Batch* open = with_open_calls(inside);
    if (!open) continue;
    const Batch* outermost = outermost_with_open_calls(open);
    found.waiting |= press_if_left_for_long(carrier, left[i].outer, outermost, steps, used);
    if (open != outermost)
      found.waiting |= press_if_left_for_long(carrier, left[i].inner, open, steps, used);
    // Computing for long, or spinning where asking has not helped: that looks the same.
    bool computes = open->computes.load(std::memory_order_relaxed);
    found.waiting |= is_still_there && !computes;
    bool busy = spent >= (computes ? kComputes : kHopeless);
    if (spent >= kSuspicious && !busy) continue;
    bool sleeps = !busy && sleeps_long(carrier, it, now);
    found.waiting |= it.asleep_looks != 0;
    if (!busy && !sleeps) continue;
    // Who sleeps in this library waits for others' members, perhaps because they have had no CPU.
    // It does so still if it is about to be woken, for which its waker may have to wait for a CPU.
    if (!busy && !it.slept_here) inside->blocks.store(true, std::memory_order_relaxed);
    let_others_begin(carrier, open);
    it = first_sight(steps, used, now);
    if (!busy) continue;
    it.told = open;
    it.round = Tickets<RealWorld>::round(open->tickets.look());
  }
  return found;
}

// Where nobody waits unseen it looks less often: each look interrupts who computes, and the kernel
// goes on with another one then (docs/design/044-calm-watch.md).
Nanoseconds tick_after(unsigned calm) {
  unsigned doubled = calm / kCalmTicks;
  return kTick << (doubled < kMostDoubled ? doubled : kMostDoubled);
}

void* watch_main(void*) {
  host::leave_scheduling();
  interrupts_start();
  unsigned soon = 0, calm = 0;
  for (Nanoseconds quiet = 0;;) {
    timespec tick{0, static_cast<long>(soon ? kSoon : tick_after(calm))};
    nanosleep(&tick, nullptr);
    Found found = look();
    soon = found.asked ? kSoonTicks : soon ? soon - 1 : 0;
    calm = found.asked || found.waiting ? 0 : calm + 1;
    quiet = found.any ? 0 : quiet + tick.tv_nsec;
    if (quiet < kQuiet) continue;
    // [watch-1] A batch opened after this wakes it; one opened before is seen by this look.
    state.store(State::asleep, std::memory_order_seq_cst);
    if (look().any) state.store(State::awake, std::memory_order_relaxed);
    while (state.load(std::memory_order_acquire) == State::asleep)
      kernel::futex_wait(&state, static_cast<std::uint32_t>(State::asleep));
    quiet = 0;
    calm = 0;
  }
}

}  // namespace

void watch() {
  State now = state.load(std::memory_order_relaxed);  // [watch-1] after a fence of show()
  if (__builtin_expect(now == State::awake, 1)) return;
  if (!state.compare_exchange_strong(now, State::awake, std::memory_order_seq_cst)) return;
  if (now == State::asleep) kernel::futex_wake_one(&state);
  if (now != State::none) return;
  kernel::NoSignals of_its_own;  // handlers of the program may need more stack
  blocked_by_program = of_its_own.blocked_before();
  if (!host::start_thread(watch_main, nullptr, kStack))
    state.store(State::none,
                std::memory_order_relaxed);  // the system is out of threads: asked again
}

void watch_after_fork() { state.store(State::none, std::memory_order_relaxed); }

}  // namespace roost::ult

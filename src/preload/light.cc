// The public calls for light threads, and the way into their runtime.
#include "preload/light.h"

#include <errno.h>
#include <time.h>

#include "base/own_code.h"
#include "base/ticks.h"
#include "os/sys.h"
#include "preload/blas_calls.h"
#include "preload/in_handler.h"
#include "preload/nudge.h"
#include "preload/public_api.h"
#include "preload/real.h"
#include "sched/ask_owner.h"
#include "sched/runtime.h"
#include "sched/runtime_os.h"

namespace roost {

constinit thread_local struct roost_light own_light = {};

namespace {

using Event = int(int what);
std::atomic<Event*> event{nullptr};
std::atomic<std::uint64_t> text_begins{0}, text_ends{0};

// Whether the caller is in a handler that has interrupted the runtime, whose queues may be half
// changed, or Roost, which it may have called; or on a stack that is the next signal's, too.
bool interrupts_runtime() {
  return in_handler_over(
      [](std::uint64_t address) { return in_light_runtime(address) || is_own_code(address); });
}

// Only where is_light(), and so there is a runtime, which is not interrupted.
bool tell_at_rest(int what) { return event.load(std::memory_order_acquire)(what) == 1; }

// Rounds of siblings in a row before others get the core, if none of them has come any further.
constexpr unsigned kRoundsInVain = 32;
constinit thread_local unsigned rounds_in_vain = 0;
// Else the thread keeps its core for so long: light threads that meet often have done with each
// other what they were begun for by then, and the core's caches are theirs. More than a quantum,
// which should end between two pieces of work.
constexpr Nanoseconds kTurn = 30'000'000;
constexpr unsigned kLookEvery = 64;  // rounds
constinit thread_local unsigned rounds = 0;
constinit thread_local std::uint64_t last_look = 0, last_round = 0;
// Where this thread's light threads were seen waiting. Of two in one place none looks as if it had
// come further.
struct Seen {
  const void* light_thread;
  std::uint64_t at;
};
constinit thread_local Seen seen[64] = {};

// Yields of light threads beside threads of the process that wait for the core: all but one in so
// many are for those.
constexpr unsigned char kSiblingsEvery = 8;
constinit thread_local unsigned char yields = 0;

// The waits of this thread's light threads.
constinit thread_local LightWait* waits = nullptr;

// Whether the calling light thread was in this wait when it was last seen.
bool still_at(std::uint64_t at) {
  const void* self = own_light.self;
  Seen& last = seen[(reinterpret_cast<std::uintptr_t>(self) >> 7) % 64];
  bool moved = at != 0 && last.light_thread == self && last.at != at;
  last = {self, at};
  return !moved;
}

// Tells the watchdog that the thread, which has a core, does not keep it unseen. False if it has
// none.
bool passes_on_core(std::uint32_t state) {
  if (state_of(state) != State::running) return false;
  runtime_segment().cores[core_of(state)].count_pass();
  return true;
}

// Whether it is time that others get the core, if there are any.
bool turn_is_over() {
  if (rounds_in_vain >= kRoundsInVain) return true;
  if (++rounds % kLookEvery != 0) return false;
  if (!self.record) return true;
  const auto& record = *self.record;
  return !passes_on_core(record.state.load(std::memory_order_relaxed)) ||
         os::now() - record.granted_ns > kTurn;
}

// Whether a light thread has computed since this was asked: who only looks again is quicker.
bool somebody_worked() {
  constexpr std::uint64_t kWork = 100'000;  // ticks: 20 to 100 us
  std::uint64_t now = ticks();
  bool worked = now - last_round > kWork;
  last_round = now;
  return worked;
}

// Whether any thread waits for this core, and not only for others.
bool is_queued_for(CoreIndex core) {
  return runtime_segment().cores[core].ready.load(std::memory_order_relaxed) != 0;
}

// Whether it is time that others get the core of a thread that is between two pieces of work:
// another process once the policy says so, threads of the same one sooner than that. (What they
// wait for is mostly the same kind of work, but each turn begins with cold caches.)
bool has_had_turn(const ThreadRecord<RealWorld>& record) {
  constexpr Nanoseconds kShortestTurn = 3'000'000, kTurnAmongSiblings = 12'000'000;
  constexpr std::uint64_t kLookAgain = 500'000;  // ticks: 0.1 to 0.5 ms
  if (!roost_others_wait()) return false;
  std::uint64_t now = ticks();
  if (now - last_look < kLookAgain) return false;
  last_look = now;
  std::uint32_t word = record.state.load(std::memory_order_relaxed);
  if (!passes_on_core(word)) return true;
  Nanoseconds had = os::now() - record.granted_ns;
  if (had <= kShortestTurn) return false;
  if (had > kTurn) return true;
  bool had_much = had > kTurnAmongSiblings;
  CoreIndex core = core_of(word);
  Critical critical;
  RuntimeLedger& ledger = runtime_ledger();
  if (had_much && (!is_queued_for(core) || ledger.has_queued(core, runtime_process()))) return true;
  return ledger.turn_is_over(core, runtime_process());
}

// Whether READY threads of this process are queued for the calling thread's core.
bool own_threads_wait() {
  std::uint32_t word = self.record->state.load(std::memory_order_relaxed);
  if (state_of(word) != State::running) return false;
  Critical critical;
  return runtime_ledger().has_queued(core_of(word), runtime_process());
}

int suspect(roost_thread thread, bool sharing) {
  if (!runtime_active()) return -ENOTCONN;
  ThreadIndex index;
  if (!find_handle(thread, index)) return -ESRCH;
  auto& record = runtime_segment().threads[index];
  if (record.process != runtime_process()) return -ESRCH;
  int signal = nudge_signal();
  if (!signal) return -ENOTSUP;
  std::uint32_t word = record.state.load(std::memory_order_relaxed);
  bool has_core = state_of(word) == State::running;
  if (has_core || sharing)
    ask_owner(record, has_core ? core_of(word) : kNoCore, os::getpid(),
              record.tid.load(std::memory_order_relaxed), signal);
  return 0;
}

}  // namespace

bool let_light_sibling_run(std::uint64_t at) {
  if (!is_light()) return false;
  bool moved = !still_at(at);
  rounds_in_vain = somebody_worked() || moved ? 0 : rounds_in_vain + 1;
  if (turn_is_over()) {
    rounds_in_vain = 0;
    if (roost_others_wait()) return false;
  }
  return !interrupts_runtime() && tell_at_rest(ROOST_LIGHT_SPINS);
}

void look_of_light_thread(bool in_vain) {
  static constinit thread_local std::uint8_t looks __attribute__((tls_model("initial-exec"))) = 0;
  looks = in_vain ? static_cast<std::uint8_t>(looks + 1) : 0;
  if (in_vain && looks == 0 && can_park() && !self.inside_libc) let_light_sibling_run();
}

bool lets_threads_go_first() {
  return is_light() && !in_blas_call() && own_threads_wait() && ++yields % kSiblingsEvery != 0;
}

void tell_of_spinner() {
  Event* runtime = is_light() ? nullptr : event.load(std::memory_order_acquire);
  if (runtime) runtime(ROOST_LIGHT_THREAD_SPINS);
}

LightWait::LightWait(const Deadline* deadline, OutsideWord* outside)
    : deadline_(deadline), outside_(outside), next_(waits) {
  if (next_) next_->previous_ = this;
  waits = this;
  wait_begins();
}

LightWait::~LightWait() {
  (previous_ ? previous_->next_ : waits) = next_;
  if (next_) next_->previous_ = previous_;
  wait_ends(parked_);
  tell(ROOST_LIGHT_GOES_ON);
}

bool LightWait::tell(int what) {
  if (interrupts_ == Interrupts::unknown)
    interrupts_ = interrupts_runtime() ? Interrupts::yes : Interrupts::no;
  return interrupts_ == Interrupts::no && tell_at_rest(what);
}

bool LightWait::timed_out() const { return deadline_ && left_until(*deadline_) == 0; }

bool LightWait::word_changed() {
  if (!outside_ || __atomic_load_n(outside_->word, __ATOMIC_SEQ_CST) == outside_->expected)
    return false;
  outside_->end = OutsideWord::End::changed;
  return true;
}

bool LightWait::let_siblings_run() {
  bool again = tell(looked_ ? ROOST_LIGHT_LOOKED : ROOST_LIGHT_BLOCKS);
  looked_ = again;  // after a sleep all look anew
  return again;
}

bool let_siblings_go_first() {
  // Libc's locks are the OS thread's: siblings would pass them, too.
  if (self.inside_libc || interrupts_runtime()) return false;
  bool one_ran;
  do {
    one_ran = tell_at_rest(ROOST_LIGHT_YIELDS);
  } while (one_ran && !has_light_siblings());  // that one has ended, and there may be more to begin
  return has_light_siblings();
}

Park LightWait::park(bool interruptible) {
  parked_ = true;
  if (!next_ && !previous_) return roost::park(deadline_, interruptible, outside_);
  Nanoseconds least = ~Nanoseconds{0};
  bool words = false;
  for (LightWait* wait = waits; wait; wait = wait->next_) {
    words = words || wait->outside_;
    if (!wait->deadline_) continue;
    Nanoseconds left = left_until(*wait->deadline_);
    if (left < least) least = left;
  }
  // A thread sleeps on one word of the program besides its own; several are looked at now and then.
  constexpr Nanoseconds kLook = 1'000'000;
  if (words && least > kLook) least = kLook;
  if (least == ~Nanoseconds{0}) return roost::park(nullptr, interruptible);
  Deadline earliest{os::to_timespec(os::now() + least), false};
  return roost::park(&earliest, interruptible);
}

bool in_light_runtime(std::uint64_t address) {
  return address >= text_begins.load(std::memory_order_relaxed) &&
         address < text_ends.load(std::memory_order_relaxed);
}

ROOST_EXPORT int roost_light_threads(Event* runtime, const void* text, const void* text_end) {
  if (!runtime_active()) return -ENOTCONN;
  Event* none = nullptr;
  if (event.load(std::memory_order_relaxed)) return -EBUSY;
  text_begins.store(reinterpret_cast<std::uint64_t>(text), std::memory_order_relaxed);
  text_ends.store(reinterpret_cast<std::uint64_t>(text_end), std::memory_order_relaxed);
  return event.compare_exchange_strong(none, runtime, std::memory_order_release) ? 0 : -EBUSY;
}

ROOST_EXPORT int roost_pass_point() {
  if (self.keeps_core) return 0;
  bool has_core =
      self.record && state_of(self.record->state.load(std::memory_order_relaxed)) == State::running;
  return has_core && !has_had_turn(*self.record) ? 0 : roost_yield();
}

ROOST_EXPORT struct roost_light* roost_light_state() { return &own_light; }

ROOST_EXPORT int roost_suspect(roost_thread thread) { return suspect(thread, false); }
ROOST_EXPORT int roost_suspect_sharing(roost_thread thread) { return suspect(thread, true); }

}  // namespace roost

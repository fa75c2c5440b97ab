// Waits, and what a thread does once it has been granted its core.
#include "sched/grant_wait.h"

#include <errno.h>

#include <algorithm>

#include "sched/attendance.h"
#include "sched/awake_wait.h"
#include "sched/keeper.h"
#include "sched/runtime_os.h"
#include "sched/runtime_trace.h"

namespace roost {

namespace {

Nanoseconds idle_spin;
bool spin_ends_with_sibling;
bool may_wait_awake;

// Of each core, for waits that begin BLOCKED and for those of threads that are READY already: how
// long the former last is up to other threads, the latter wait for their turn.
struct alignas(kCacheLine) CoreWaits {
  AwakeWaits blocked, ready;
};
CoreWaits awake_waits[kMaxMaskWords * 64];

ThreadIndex thread_on(const CoreSlot<RealWorld>& core) {
  return thread_of_owner(core.owner.load(std::memory_order_relaxed));
}

// Whether the other hardware thread of the physical core has a thread; false if none is known.
bool sibling_runs(CoreIndex core) {
  const Segment& segment = runtime_segment();
  int sibling = core + segment.core_info[core].to_sibling;
  if (sibling == core || sibling < 0 || sibling >= segment.header->n_cores) return false;
  return thread_on(segment.cores[sibling]) != kNoThread;
}

// Whether it is of no use to spin for the core any longer: it has another thread than the caller;
// or it has been the caller's for some looks, and whoever grants it does not come to an end. The
// kernel may have taken him off his CPU for the caller, which he has just moved there. Who has only
// claimed the core may be about to grant it to the caller, or leave it as it was.
class IsTaken {
 public:
  bool operator()(const CoreSlot<RealWorld>& core) {
    ThreadIndex owner = thread_on(core);
    if (owner == self.index) return ++own_ == kLooks;
    return owner != kNoThread;
  }

 private:
  static constexpr int kLooks = 16;
  int own_ = 0;
};

// Since `since` the CPU of `core` was kept by others (or the thread stopped) while the core had a
// thread that could run, or one spun there.
void note_late(CoreIndex core, Nanoseconds since, Nanoseconds now) {
  constexpr Nanoseconds kNoticed = 200'000, kLong = 700'000, kMost = 20'000'000;
  if (__builtin_expect(now - since < kNoticed, 1)) return;
  runtime_ledger().note_late(core, now);
  if (now - since < kLong) return;
  runtime_segment().header->late_us[core].fetch_add(
      static_cast<std::uint32_t>(std::min(now - since, kMost) / 1000), std::memory_order_relaxed);
}

// Nobody needs the core this thread has just left: spins there for as long as a wake-up across
// cores costs, since whoever wakes it then need not pay that (NEST section 3.2; competitive
// spinning). Stops as soon as the core has another thread or, if the policy says so, its sibling
// one. `attends`: threads may have been left to it already.
void spin_on_idle_core(bool attends) {
  if (idle_spin == 0) return;
  const ThreadRecord<RealWorld>& record = *self.record;
  CoreIndex own = record.last_core;
  const CoreSlot<RealWorld>& core = runtime_segment().cores[own];
  IsTaken is_taken;
  auto is_over = [&] {
    return state_of(record.state.load(std::memory_order_acquire)) == State::running ||
           is_taken(core) || (spin_ends_with_sibling && sibling_runs(own));
  };
  if (is_over()) {
    if (attends) Attendance<RuntimeLedger>::end(runtime_ledger(), own);
    return;
  }
  Nanoseconds began = os::now(), end = began + idle_spin, looked = began;
  Attendance attendance(runtime_ledger(), own, began);
  for (unsigned i = 1; !is_over(); ++i) {
    cpu_pause();
    attendance.serve();
    if (i % 32 != 0) continue;
    Nanoseconds now = os::now();
    note_late(own, looked, now);
    if (now >= end) return;
    attendance.look(looked = now);
  }
  // Granted its core while it was kept from looking.
  constexpr Nanoseconds kNoLook = 5'000;
  if (record.granted_ns > looked + kNoLook) note_late(own, record.granted_ns, os::now());
}

// Threads that hand a core to one another every few microseconds can keep all other scheduling
// groups from it, the kernel's own threads and exiting ones among them, for minutes: a fault of
// Linux 6.18 (docs/design/015-a-moment-for-the-kernel.md). So a core that is handed on that often
// is left asleep for some 0.1 ms in each 8192 hand-offs, which is 0.1 to 0.3 % of its time.
void leave_kernel_a_moment() {
  constexpr std::uint16_t kHandOffs = 8192;
  constexpr Nanoseconds kMoment = 50'000;
  if (__builtin_expect(++self.hand_offs % kHandOffs != 0, 1)) return;
  os::sleep_for(kMoment);
}

// Sleeps on the record, whose word is `word`, and on the outside word.
int sleep_on_both(const ThreadRecord<RealWorld>& record, std::uint32_t word, OutsideWord& outside) {
  const os::FutexWait words[] = {{&record.state, word, os::FutexScope::shared},
                                 {outside.word, outside.expected, os::FutexScope::process}};
  int woken = os::futex_wait_any(words, 2);
  if (woken == 1) {
    outside.end = OutsideWord::End::woken;
  } else if (woken < 0 && woken != -EINTR && record.state.load(std::memory_order_relaxed) == word) {
    // It was not the record that kept it from sleeping (nor can it sleep there for another reason).
    outside.end = OutsideWord::End::changed;
  }
  return woken;
}

// Sleeps on the record of the caller, which is READY or may be made READY by another thread, in a
// process that has no keeper: as long as it has no other thread, it looks at the instance itself
// if nobody else does.
// `look`: when that is, 0 at first. Signals may come more often.
void await_grant_unwatched(const ThreadRecord<RealWorld>& record, std::uint32_t word,
                           Nanoseconds& look) {
  if (!look) look = os::now() + keeper_next_look();
  timespec until = os::to_timespec(look);
  int slept = os::futex_wait(&record.state, word, os::FutexScope::shared, &until, false);
  if (slept == 0 || (slept != -ETIMEDOUT && os::now() < look)) return;
  look = 0;
  if (state_of(record.state.load(std::memory_order_relaxed)) == State::ready) keeper_look_instead();
}

// Waits for a grant in the run queue of the CPU on which it stands, where that has paid of late.
// Whether it has left the CPU.
bool wait_awake(ThreadRecord<RealWorld>& record) {
  CoreIndex core = self.place;
  if (!may_wait_awake || core == kNoCore) return false;
  // Alone on the CPU it would only spin there, for which the time is over.
  if (runtime_segment().cores[core].owner.load(std::memory_order_relaxed) == 0) return false;
  bool blocked = state_of(record.state.load(std::memory_order_relaxed)) == State::blocked;
  AwakeWaits& waits = blocked ? awake_waits[core].blocked : awake_waits[core].ready;
  if (!waits.worth_it() || state_of(announce_awake(record)) == State::running) return false;
  Nanoseconds began = os::now();
  os::yield();
  bool granted = state_of(record.state.load(std::memory_order_acquire)) == State::running;
  Nanoseconds end = runtime_os().waited_awake(record, began);
  record.counters.awake += granted;
  waits.waited(granted, granted ? os::now() - end : 0);
  return true;
}

}  // namespace

void grant_wait_bind(const Policy& policy) {
  const Segment& segment = runtime_segment();
  int spin = find_parameter(policy, "idle_spin");
  idle_spin = spin < 0 ? 0 : segment.header->parameters[spin];
  spin_ends_with_sibling = policy.spin_ends_with_sibling;
  may_wait_awake = segment.header->pin_mode == PinMode::core;
}

CoreIndex current_core() {
  const Segment& segment = runtime_segment();
  auto cpu = static_cast<unsigned>(sched_getcpu());
  CoreIndex last = self.record->last_core;
  if (segment.core_info[last].os_cpu == cpu) return last;
  for (CoreIndex c = 0; c < segment.header->n_cores; ++c)
    if (segment.core_info[c].os_cpu == cpu) return c;
  return last;
}

// The caller, READY, asks for a core.
void make_self_ready() {
  Critical critical;
  runtime_ledger().make_ready(self.index);
}

void pin_self(CoreIndex core) {
  if (self.record->pinned_to != core) runtime_os().pin(*self.record, core);
  self.place = core;
}

IdleCore idle_core_until(const Deadline* deadline) {
  if (idle_spin == 0) return IdleCore::leaves;
  // With more threads than cores, those of short waits would spin beside each other.
  if (deadline && left_until(*deadline) <= 2 * idle_spin) return IdleCore::leaves;
  return IdleCore::spins;
}

// In the child of a fork by a handler that has interrupted the wait the record is the parent's, and
// the thread has another one, and a core: the wait is over.
Park wait_for_grant(const Deadline* deadline, bool interruptible, OutsideWord* outside,
                    IdleCore idle_core) {
  const std::uint32_t forks = self.forks;
  ThreadRecord<RealWorld>& record = *self.record;
  Park result = Park::woken;
  Nanoseconds look = 0;
  if (idle_core != IdleCore::leaves) spin_on_idle_core(idle_core == IdleCore::attends);
  // A deadline, a signal or the outside word would not end a turn in the run queue.
  bool ends_early = deadline || interruptible || outside;
  for (bool has_waited = !ends_early && wait_awake(record);; has_waited = true) {
    if (__builtin_expect(self.forks != forks, 0)) return Park::woken;
    std::uint32_t word = announce_sleep(record);
    if (__builtin_expect(state_of(word) == State::free, 0)) return Park::woken;  // zero memory
    if (state_of(word) == State::running) {
      // Late, too, if it was granted before it slept and had been preempted.
      note_late(core_of(word), record.granted_ns, os::now());
      if (has_waited) leave_kernel_a_moment();
      break;
    }
    if (state_of(word) == State::external) {
      // Granted, but taken by the watchdog for a sleeper before the wake-up reached us.
      hold_ready(record, party_of_thread(self.index));
      make_self_ready();
      continue;
    }
    bool for_ever = !deadline && !interruptible && !outside;
    if (__builtin_expect(!keeper_started(), 0) &&
        (state_of(word) == State::ready || (for_ever && runtime_thread_count() > 1))) {
      await_grant_unwatched(record, word, look);
      continue;
    }
    bool on_both = outside && state_of(word) == State::blocked;
    int slept = on_both ? sleep_on_both(record, word, *outside)
                        : os::futex_wait(&record.state, word, os::FutexScope::shared,
                                         deadline ? &deadline->at : nullptr,
                                         deadline && deadline->realtime);
    bool end = slept == -ETIMEDOUT || (slept == -EINTR && interruptible) ||
               (on_both && outside->end != OutsideWord::End::none);
    if (!end || self.forks != forks) continue;
    if (cancel_block(record, party_of_thread(self.index))) {
      result = slept == -ETIMEDOUT ? Park::timed_out : Park::interrupted;
      make_self_ready();
    }
    deadline = nullptr;
    interruptible = false;
    outside = nullptr;
  }
  note_runs();
  CoreIndex core = core_of(record.state.load(std::memory_order_relaxed));
  pin_self(core);
  return result;
}

}  // namespace roost

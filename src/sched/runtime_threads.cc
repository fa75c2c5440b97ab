// Blocks, wakes and moves the calling thread, once its process has joined an instance.
#include "sched/runtime_threads.h"

#include <string.h>

#include "base/ticks.h"
#include "sched/attendance.h"
#include "sched/go_beside.h"
#include "sched/grant_wait.h"
#include "sched/keeper.h"
#include "sched/own_seat.h"
#include "sched/runtime_os.h"
#include "sched/runtime_trace.h"
#include "sched/vain_yields.h"

namespace roost {

namespace {

VainYields vain_yields[kMaxCores];

constinit std::atomic<std::uint32_t> threads_so_far{0};

// A thread that waits in the kernel again and again while nobody needs its core is not kept on it:
// the kernel wakes it beside whoever wakes it, which on an idle machine costs a tenth of a wake-up
// across CPUs, and moves it where that turns out wrong. The next grant it has to wait for pins it.
void loosen_if_idle(CoreIndex left) {
  constexpr std::uint8_t kIdleWaits = 4;
  if (self.loose) return;
  if (runtime_segment().cores[left].owner.load(std::memory_order_relaxed) != 0) {
    self.idle_waits = 0;
  } else if (++self.idle_waits >= kIdleWaits) {
    self.idle_waits = 0;
    self.loose = true;
    unpin_self();
  }
}

// Waits for a signal that is on its way; for one that does not come (its sender died) not for long.
class NudgeWait {
 public:
  bool operator()() {
    constexpr Nanoseconds kLongest = 200'000'000;
    Nanoseconds now = os::now();
    if (end_ == 0) end_ = now + kLongest;
    if (now >= end_) return false;
    os::yield();
    return true;
  }

 private:
  Nanoseconds end_ = 0;
};

// Before a wait that a signal ends early, with the core given away: the watchdog's own signal, if
// it is on its way, comes first [nudge-1].
void let_nudge_pass() { self.record->nudge.let_pass(NudgeWait{}); }

// From READY without a core to RUNNING.
void acquire_core() {
  self.beside = false;
  self.loose = self.loose && self.record->pinned_to == kNoCore;
  // A loose thread asks first for the core where the kernel woke it.
  if (self.loose) self.record->last_core = current_core();
  make_self_ready();
  if (self.loose && has_core()) return note_runs();
  wait_for_grant(nullptr, false);
  self.loose = false;
}

}  // namespace

Nanoseconds left_until(const Deadline& deadline) {
  timespec now = os::clock_time(deadline.realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC);
  auto seconds = deadline.at.tv_sec - now.tv_sec;
  auto left = seconds * 1'000'000'000 + (deadline.at.tv_nsec - now.tv_nsec);
  constexpr auto kFar = std::int64_t{1} << 32;  // seconds; beyond, the product may not fit
  if (seconds > kFar) left = kFar * 1'000'000'000;
  return left > 0 ? static_cast<Nanoseconds>(left) : 0;
}

std::uint32_t runtime_threads_so_far() { return threads_so_far.load(std::memory_order_relaxed); }

// `depth` stays, and `waits` until its waits have been seen to: the child leaves the sections that
// the handler which forked has interrupted, and begins the waits anew.
void runtime_forget_threads() {
  self.record = nullptr;
  self.index = kNoThread;
  self.parked = false;
  ++self.forks;
  self.in_kernel = false;
  self.waits_inside_libc = false;
  waiters_inside_libc.store(0, std::memory_order_relaxed);
  threads_so_far.store(0, std::memory_order_relaxed);
  forget_deferred_wakes();
  self.beside = false;
}

bool thread_attach() {
  if (!runtime_active() || runtime_restricted() || self.record) return self.record != nullptr;
  ThreadIndex index = segment_take_thread(runtime_segment(), runtime_process());
  if (index == kNoThread) return false;
  if (runtime_thread_count() > 1) keeper_start();  // [keeper-1]
  ThreadRecord<RealWorld>& record = runtime_segment().threads[index];
  self.tid = os::gettid();
  record.tid.store(self.tid, std::memory_order_relaxed);
  unsigned cpu = 0;
  os::raw_syscall(SYS_getcpu, os::arg(&cpu), 0, 0);
  for (CoreIndex c = 0; c < runtime_segment().header->n_cores; ++c) {
    if (runtime_segment().core_info[c].os_cpu == cpu) record.last_core = c;
  }
  self.index = index;
  self.record = &record;
  threads_so_far.fetch_add(1, std::memory_order_relaxed);
  trace::thread_begins();
  trace::record({.kind = trace::Kind::attached});
  self.parked = true;
  hold_ready(record, party_of_thread(index));
  acquire_core();
  self.parked = false;
  return true;
}

void thread_detach() {
  ThreadIndex index = self.index;
  {
    Critical critical;
    RuntimeLedger& ledger = runtime_ledger();
    Held held = ledger.leave_core(index, State::detached);
    note_left(trace::Kind::ended, held.core);
    if (held.core != kNoCore) ledger.release(held, true);
    let_nudge_pass();
    self.record = nullptr;
    self.index = kNoThread;
    self.beside = false;
    segment_free_thread(runtime_segment(), index);
  }
  os::set_affinity(0, &runtime_cpus(), sizeof(CpuSet));
}

static Park park(const Deadline* deadline, bool interruptible, OutsideWord* outside, bool ended) {
  ThreadRecord<RealWorld>& record = *self.record;
  IdleCore idle_core = idle_core_until(deadline);
  self.parked = true;
  self.beside = false;
  {
    Critical critical;
    RuntimeLedger& ledger = runtime_ledger();
    Held held = ledger.core_of(self.index);
    Block block = begin_block(record).block;
    if (block == Block::permit) {
      self.parked = false;
      self.waits_in = nullptr;
      return Park::woken;
    }
    note_left(trace::Kind::blocked, block == Block::release ? held.core : kNoCore);
    self.leaves_soon.leaves(ticks);
    if (block == Block::release && idle_core == IdleCore::leaves) {
      ledger.release(held, ended);
    } else if (block == Block::release && ledger.release_to_attend(held, ended)) {
      idle_core = IdleCore::attends;
    }
  }
  if (interruptible) let_nudge_pass();
  Park result = wait_for_grant(deadline, interruptible, outside, idle_core);
  self.parked = false;
  pass_scheduling_point();
  return result;
}

void wait_ends(bool parked) {
  // None are left where a handler has jumped out of them all.
  if (self.waits && --self.waits && parked && self.record) unpark(self.index);
}

Park park(const Deadline* deadline, bool interruptible, OutsideWord* outside) {
  return park(deadline, interruptible, outside, false);
}

void park_ended() {
  // Its own until it blocks: from then on the words belong to whoever wakes it.
  memset(self.record->policy_words, 0, sizeof self.record->policy_words);
  park(nullptr, false, nullptr, true);
}

void unpark(ThreadIndex thread) {
  Critical critical;
  if (!roost::unpark(runtime_segment().threads[thread], runtime_os().self())) return;
  runtime_ledger().make_ready(thread);
  self.leaves_soon.woke(ticks);
}

// What threads wait for while they yield (ThreadRecord::wait_words), by their index: memory that
// stays, since one that was overtaken while it had a queue's lock may look when the thread has
// ended. Further threads do not say what they wait for.
constexpr ThreadIndex kThreadsWithWords = 16384;
static constinit WaitWords words_of_threads[kThreadsWithWords] = {};

// The record may be another process's by now, and that one has a table of its own.
bool RuntimeOs::waits_in_vain(const ThreadRecord<RealWorld>& record, Nanoseconds waited) {
  auto index = static_cast<std::size_t>(&record - runtime_segment().threads);
  if (index >= kThreadsWithWords || !record.wait_words) return false;
  const WaitWords& wait = words_of_threads[index];
  return waited < wait.patience && all_unchanged(wait, os::has_value);
}

bool yield_core(const WaitWords* wait) {
  ThreadRecord<RealWorld>& record = *self.record;
  RuntimeLedger& ledger = runtime_ledger();
  Held held = ledger.core_of(self.index);
  if (held.core == kNoCore) {
    regain_core();
    return true;
  }
  constexpr Nanoseconds kStealAge = 200'000;
  // Who says what he waits for is passed over until it has come.
  VainYields& yields = vain_yields[held.core];
  Nanoseconds granted = record.granted_ns;  // the record may be granted anew meanwhile
  std::uint32_t in_vain = wait ? 0 : yields.count(granted);
  if (wait && self.index < kThreadsWithWords) {
    words_of_threads[self.index] = *wait;
    record.wait_words = reinterpret_cast<std::uint64_t>(&words_of_threads[self.index]);
  }
  using Result = RuntimeLedger::YieldResult;
  self.parked = true;
  Result result;
  {
    Critical critical;
    runtime_segment().cores[held.core].count_pass();
    result = ledger.yield(self.index, held, kStealAge, own_seat(), in_vain);
    if (in_vain) yields.gave(granted, in_vain);
    if (result == Result::lost_core) ledger.make_ready(self.index);
  }
  if (result == Result::alone) {
    yields.forget();
  } else {
    wait_for_grant(nullptr, false);
  }
  record.wait_words = 0;
  self.parked = false;
  pass_scheduling_point();
  return result != Result::alone;
}

static void begin_wait_inside_libc() {
  if (__builtin_expect(!self.inside_libc || self.waits_inside_libc, 1)) return;
  self.waits_inside_libc = true;
  waiters_inside_libc.fetch_add(1, std::memory_order_relaxed);
}

static void end_wait_inside_libc() {
  if (__builtin_expect(!self.waits_inside_libc, 1)) return;
  self.waits_inside_libc = false;
  waiters_inside_libc.fetch_sub(1, std::memory_order_relaxed);
}

// A thread in the kernel without its core is not asked anyway, and its record may be that of the
// parent in vfork.
WithoutNudges::WithoutNudges()
    : refusing_(self.record && !self.in_kernel && self.record->nudge.refuse(NudgeWait{})) {}

void enter_external() {
  if (self.in_kernel) return;
  self.in_kernel = true;
  end_run();
  begin_wait_inside_libc();
  // With no core to give up, nothing could be cut short by a handler that jumps.
  if (be_external(*self.record)) {
    note_left(trace::Kind::in_kernel, kNoCore);
  } else {
    Critical critical;
    RuntimeLedger& ledger = runtime_ledger();
    Held held = ledger.leave_core(self.index, State::external);
    note_left(trace::Kind::in_kernel, held.core);
    self.leaves_soon.leaves(ticks);
    if (held.core != kNoCore) {
      ledger.release(held);
      loosen_if_idle(held.core);
    }
  }
  let_nudge_pass();
}

void leave_external() {
  self.in_kernel = false;
  if (!self.record) return;
  if (go_beside()) {
    end_wait_inside_libc();
  } else {
    regain_core();
  }
  begin_run();
  pass_scheduling_point();
}

void regain_core() {
  if (!has_core()) {
    begin_wait_inside_libc();
    self.parked = true;
    hold_ready(*self.record, party_of_thread(self.index));
    acquire_core();
    self.parked = false;
  }
  end_wait_inside_libc();
}

void abandon_wait() {
  if (self.depth != 0) return;  // out of Roost's own code: nothing can mend that
  if (self.in_kernel) leave_external();
  come_back(*self.record);  // out of a handler that waits
  Attendance<RuntimeLedger>::abandon(runtime_ledger());
  if (!self.parked) return;
  // Or just before it attended its core.
  Attendance<RuntimeLedger>::end(runtime_ledger(), self.record->last_core);
  // If it is not on its way to a core already.
  if (cancel_block(*self.record, party_of_thread(self.index))) make_self_ready();
  self.record->wait_words = 0;  // the jump leaves that wait
  wait_for_grant(nullptr, false);
  self.parked = false;
  end_wait_inside_libc();
}

void unpin_self() {
  if (!runtime_active()) return;
  os::set_affinity(0, &runtime_cpus(), sizeof(CpuSet));
  if (self.record) self.record->pinned_to = kNoCore;
  self.place = kNoCore;
}

void unpin_thread(ThreadIndex thread) {
  ThreadRecord<RealWorld>& record = runtime_segment().threads[thread];
  os::set_affinity(record.tid.load(std::memory_order_relaxed), &runtime_cpus(), sizeof(CpuSet));
  // After the mask: who pins it meanwhile leaves it pinned, at worst without our knowledge.
  record.pinned_to = kNoCore;
}

void repin_self() {
  if (self.record && has_core()) {
    pin_self(core_of(self.record->state.load(std::memory_order_relaxed)));
  }
}

}  // namespace roost

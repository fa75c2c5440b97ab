// Attaches the process, and blocks, wakes and moves the calling thread.
#include "sched/runtime.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <new>

#include "base/ticks.h"
#include "sched/attendance.h"
#include "sched/go_beside.h"
#include "sched/grant_wait.h"
#include "sched/keeper.h"
#include "sched/own_seat.h"
#include "sched/policy_file.h"
#include "sched/runtime_os.h"
#include "sched/runtime_trace.h"
#include "sched/vain_yields.h"

namespace roost {

namespace {

// Storage without constructors or destructors: used before and after all others.
template <class T>
struct Slot {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& get() { return *reinterpret_cast<T*>(bytes); }
};

Segment segment;
ProcessIndex process = kNoProcess;
bool active = false;
Slot<RuntimeOs> os_slot;
Slot<RuntimeLedger> ledger_slot;
CpuSet instance_mask;
LibcThreads libc_threads;
int nudge_signal;
unsigned shown_loops;
const Policy* policy;
constinit PolicyFileError refusal;

VainYields vain_yields[kMaxCores];

// What queued_hint points to while there is no instance, and where one word does not tell all.
constinit std::atomic<std::uint64_t> nothing_queued{0};
constinit std::atomic<std::uint64_t> ask_the_ledger{1};

void show_queued_hint() {
  queued_hint.store(
      segment.header->n_cores > 64 ? &ask_the_ledger : &segment.header->queued[0].bits,
      std::memory_order_release);
}

void drop_mapping() {
  queued_hint.store(&nothing_queued, std::memory_order_release);
  segment_unmap(segment);
}

void bind_ledger() {
  LedgerTables<RealWorld> tables{segment.cores,
                                 segment.core_info,
                                 segment.threads,
                                 segment.fifos,
                                 segment.header->idle,
                                 segment.header->queued,
                                 segment.header->n_cores,
                                 segment.header->n_processes,
                                 segment.header->n_threads,
                                 policy,
                                 segment.header->parameters,
                                 segment.header->contended,
                                 segment.header->on_trial};
  new (os_slot.bytes)
      RuntimeOs(segment.core_info, segment.header->n_cores, segment.header->pin_mode);
  new (ledger_slot.bytes) RuntimeLedger(tables, os_slot.get());
  instance_mask = {};
  for (CoreIndex c = 0; c < segment.header->n_cores; ++c)
    instance_mask.set(segment.core_info[c].os_cpu);
}

// A thread that waits in the kernel again and again while nobody needs its core is not kept on it:
// the kernel wakes it beside whoever wakes it, which on an idle machine costs a tenth of a wake-up
// across CPUs, and moves it where that turns out wrong. The next grant it has to wait for pins it.
void loosen_if_idle(CoreIndex left) {
  constexpr std::uint8_t kIdleWaits = 4;
  if (self.loose) return;
  if (segment.cores[left].owner.load(std::memory_order_relaxed) != 0) {
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
    constexpr Nanoseconds kLongest = 20'000'000;
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

// What a former image of this very process (before an exec with several threads) still holds is
// the leader's to give back: the image is only declared dead.
void disown_earlier_image() {
  for (ProcessIndex i = 0; i < segment.header->n_processes; ++i) {
    ProcessSlot<RealWorld>& slot = segment.processes[i];
    std::uint32_t word = slot.state.load(std::memory_order_acquire);
    ProcessState state = process_state(word);
    if (i == process || !is_taken(state) || state == ProcessState::dead) continue;
    if (slot.pid != segment.processes[process].pid ||
        slot.start_time != segment.processes[process].start_time)
      continue;
    slot.state.compare_exchange_strong(word, with_process_state(word, ProcessState::dead),
                                       std::memory_order_acq_rel);
    keeper_start();
  }
}

SegmentConfig& stored_config() {
  static constinit SegmentConfig config{};
  return config;
}

constinit std::atomic<std::uint32_t> threads_so_far{0};

// The names inside the stored configuration point here: the caller's may lie in its environment.
char stored_instance[kInstanceNameBytes];
char stored_policy[kPolicyNameBytes];
char stored_policy_path[kPolicyPathBytes];

void say_fault(const void* of, std::uint32_t) {
  const PlugIn& plug_in = *static_cast<const PlugIn*>(of);
  Text<400> text("roost: policy ");
  text << plug_in.policy().name << ": " << plug_in.fault() << "; the default was done instead\n";
  os::write(2, text.c_str(), text.length());
}

// An answer of a plug-in's could not be followed. The first process of the instance to meet one
// says so, once it has left the scheduler; the keeper, which has no files, leaves that to
// runtime_stop.
bool fault_told;
void tell_fault(const PlugIn& plug_in) {
  if (self.depth == 0) return;
  fault_told = true;
  if (segment.header->policy_faults.fetch_add(1, std::memory_order_relaxed) == 0)
    defer_wake(say_fault, &plug_in, 1);
}

void tell_fault_at_end() {
  const PlugIn* plug_in = plug_in_of(*policy);
  if (!plug_in || !plug_in->fault() || fault_told) return;
  if (segment.header->policy_faults.fetch_add(1, std::memory_order_relaxed) == 0)
    say_fault(plug_in, 1);
}

int attach_process(bool may_load) {
  int error = segment_attach(segment, stored_config(), process);
  if (error) return error;
  refusal.clear();
  policy = policy_of_instance(*segment.header, may_load, refusal);
  if (!policy) {
    segment_detach(segment, process, ProcessState::free);
    drop_mapping();
    return kSegmentPolicyMismatch;
  }
  // A child of a later fork that finds everybody else gone makes the same instance anew.
  SegmentConfig& stored = stored_config();
  stored.choose_cores = nullptr;
  stored.n_cores = segment.header->n_cores;
  memcpy(stored.cores, segment.core_info, stored.n_cores * sizeof(CoreInfo));
  PlugIn::tell = tell_fault;
  bind_ledger();
  grant_wait_bind(*policy);
  beside_bind(*policy);
  active = true;
  show_queued_hint();
  runtime_accept_nudges(nudge_signal);
  runtime_show_loops(shown_loops);
  seat_bind();
  keeper_bind(segment, process, *policy, libc_threads);
  disown_earlier_image();
  if (!thread_attach()) {
    active = false;
    // A keeper that gives back what an earlier image held ends by itself, and needs the mapping
    // until then.
    bool alone = !keeper_started();
    segment_detach(segment, process, alone ? ProcessState::free : ProcessState::exiting);
    if (alone) drop_mapping();
    return kSegmentNoThreadRecord;
  }
  return 0;
}

}  // namespace

Party RuntimeOs::self() {
  Self& self = roost::self;
  if (__builtin_expect(self.index != kNoThread, 1)) return party_of_thread(self.index);
  // Asked for once: a tracer may stop it at any system call, and it may hold a lock at the next.
  if (self.named_tid == 0) self.named_tid = os::gettid();
  return party_of_process(roost::process, self.named_tid);
}

ProcessIndex RuntimeOs::process() { return roost::process; }

bool RuntimeOs::waits_in_vain(const ThreadRecord<RealWorld>& record, Nanoseconds waited) {
  const auto& wait = *reinterpret_cast<const WaitWords*>(record.wait_words);
  return waited < wait.patience && all_unchanged(wait, os::has_value);
}

constinit std::atomic<const std::atomic<std::uint64_t>*> queued_hint{&nothing_queued};

Nanoseconds left_until(const Deadline& deadline) {
  timespec now;
  clock_gettime(deadline.realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  auto seconds = deadline.at.tv_sec - now.tv_sec;
  auto left = seconds * 1'000'000'000 + (deadline.at.tv_nsec - now.tv_nsec);
  constexpr auto kFar = std::int64_t{1} << 32;  // seconds; beyond, the product may not fit
  if (seconds > kFar) left = kFar * 1'000'000'000;
  return left > 0 ? static_cast<Nanoseconds>(left) : 0;
}

void runtime_accept_nudges(int signal) {
  nudge_signal = signal;
  if (active) {
    segment.processes[process].nudge_signal.store(static_cast<std::uint32_t>(signal),
                                                  std::memory_order_relaxed);
  }
}

RuntimeLedger& runtime_ledger() { return ledger_slot.get(); }
RuntimeOs& runtime_os() { return os_slot.get(); }
bool runtime_active() { return active; }
const char* runtime_refusal() { return refusal.c_str(); }
const Segment& runtime_segment() { return segment; }
ProcessIndex runtime_process() { return process; }
void runtime_show_callers(unsigned callers) {
  segment.processes[process].callers.store(callers, std::memory_order_relaxed);
}
void runtime_show_loops(unsigned loops) {
  shown_loops = loops;
  if (active) segment.processes[process].loops.store(loops, std::memory_order_relaxed);
}
std::uint32_t runtime_thread_count() {
  return segment.processes[process].threads.load(std::memory_order_seq_cst);
}
std::uint32_t runtime_threads_so_far() { return threads_so_far.load(std::memory_order_relaxed); }
const CpuSet& runtime_cpus() { return instance_mask; }

int runtime_start(const SegmentConfig& config, const LibcThreads& libc) {
  SegmentConfig& stored = stored_config();
  memcpy(&stored, &config, sizeof stored);
  strncpy(stored_instance, config.instance, sizeof stored_instance - 1);
  strncpy(stored_policy, config.policy, sizeof stored_policy - 1);
  if (config.policy_path)
    strncpy(stored_policy_path, config.policy_path, sizeof stored_policy_path - 1);
  stored.instance = stored_instance;
  stored.policy = stored_policy;
  stored.policy_path = stored_policy_path;
  libc_threads = libc;
  if (int error = attach_process(true)) return error;
  // At each hand-over a core goes to a thread that has to wake up. Where others run on the CPU as
  // well, it waits until their slice is over, unless its own is shorter (docs/design/013).
  constexpr Nanoseconds kSlice = 100'000;
  os::request_slice(kSlice);
  return 0;
}

static bool restricted = false;
void runtime_restrict() { restricted = true; }
bool runtime_restricted() { return restricted; }

void runtime_after_fork() {
  trace::after_fork();
  if (!active) return;
  // The parent's slot, record and keeper are not ours; the mapping may be dropped and made anew.
  self.record = nullptr;
  self.index = kNoThread;
  self.depth = 0;
  self.parked = false;
  self.in_kernel = false;
  self.waits_inside_libc = false;
  waiters_inside_libc.store(0, std::memory_order_relaxed);
  threads_so_far.store(0, std::memory_order_relaxed);
  self.n_deferred = 0;
  self.beside = false;
  active = false;
  drop_mapping();
  keeper_after_fork();
  if (restricted || attach_process(false) == 0) return;
  // It runs unmanaged, as do its children, and was forked from a thread that was kept on one core.
  os::set_affinity(0, &instance_mask, sizeof instance_mask);
}

void runtime_before_exec() {
  // Alone, the process leaves the instance for good; its successor may be unmanaged. With a keeper
  // or other threads about, their segment must stay mapped, and the leader cleans up after them.
  if (segment.processes[process].threads.load(std::memory_order_relaxed) == 1 &&
      !keeper_started()) {
    runtime_stop();
    return;
  }
  segment.processes[process].exec_pending.fetch_add(1, std::memory_order_relaxed);
  unpin_self();
  enter_external();
}

void runtime_exec_failed() {
  if (!active) {
    keeper_await_end();
    drop_mapping();
    keeper_after_fork();
    attach_process(false);
    return;
  }
  leave_external();
  repin_self();
  segment.processes[process].exec_pending.fetch_sub(1, std::memory_order_relaxed);
}

void runtime_stop() {
  if (!active) return;
  tell_fault_at_end();
  bool alone =
      segment.processes[process].threads.load(std::memory_order_relaxed) <= (self.record ? 1u : 0u);
  if (self.record) thread_detach();
  active = false;
  keeper_leaves();
  // If other threads are left they run until the kernel ends them; a keeper then takes back what
  // they hold.
  segment_detach(segment, process, alone ? ProcessState::free : ProcessState::exiting);
}

bool thread_attach() {
  if (!active || restricted || self.record) return self.record != nullptr;
  ThreadIndex index = segment_take_thread(segment, process);
  if (index == kNoThread) return false;
  if (runtime_thread_count() > 1) keeper_start();  // [keeper-1]
  ThreadRecord<RealWorld>& record = segment.threads[index];
  self.tid = os::gettid();
  record.tid.store(self.tid, std::memory_order_relaxed);
  unsigned cpu = 0;
  os::raw_syscall(SYS_getcpu, os::arg(&cpu), 0, 0);
  for (CoreIndex c = 0; c < segment.header->n_cores; ++c) {
    if (segment.core_info[c].os_cpu == cpu) record.last_core = c;
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
    RuntimeLedger& ledger = ledger_slot.get();
    Held held = ledger.leave_core(index, State::detached);
    note_left(trace::Kind::ended, held.core);
    if (held.core != kNoCore) ledger.release(held, true);
    let_nudge_pass();
    self.record = nullptr;
    self.index = kNoThread;
    self.beside = false;
    segment_free_thread(segment, index);
  }
  os::set_affinity(0, &instance_mask, sizeof instance_mask);
}

static Park park(const Deadline* deadline, bool interruptible, OutsideWord* outside, bool ended) {
  ThreadRecord<RealWorld>& record = *self.record;
  bool attends = may_attend(deadline), left_idle = false;
  self.parked = true;
  self.beside = false;
  {
    Critical critical;
    RuntimeLedger& ledger = ledger_slot.get();
    Held held = ledger.core_of(self.index);
    Block block = begin_block(record).block;
    if (block == Block::permit) {
      self.parked = false;
      self.waits_in = nullptr;
      return Park::woken;
    }
    note_left(trace::Kind::blocked, block == Block::release ? held.core : kNoCore);
    self.leaves_soon.leaves(ticks);
    if (block == Block::release && attends) {
      left_idle = ledger.release_to_attend(held, ended);
    } else if (block == Block::release) {
      ledger.release(held, ended);
    }
  }
  if (interruptible) let_nudge_pass();
  Park result = wait_for_grant(deadline, interruptible, outside, left_idle);
  self.parked = false;
  pass_scheduling_point();
  return result;
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
  if (!roost::unpark(segment.threads[thread], os_slot.get().self())) return;
  ledger_slot.get().make_ready(thread);
  self.leaves_soon.woke(ticks);
}

bool yield_core(const WaitWords* wait) {
  ThreadRecord<RealWorld>& record = *self.record;
  RuntimeLedger& ledger = ledger_slot.get();
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
  if (wait) {
    self.wait_words = *wait;
    record.wait_words = reinterpret_cast<std::uint64_t>(&self.wait_words);
  }
  using Result = RuntimeLedger::YieldResult;
  self.parked = true;
  Result result;
  {
    Critical critical;
    segment.cores[held.core].count_pass();
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
    CriticalInCall critical;
    RuntimeLedger& ledger = ledger_slot.get();
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
  Attendance<RuntimeLedger>::abandon(ledger_slot.get());
  // Or just before it attended its core.
  if (self.parked) Attendance<RuntimeLedger>::end(ledger_slot.get(), self.record->last_core);
  // It was on its way to a core already. (A jump out of a BLOCKED wait, which POSIX leaves
  // undefined, is not made good.)
  if (!self.parked ||
      state_of(self.record->state.load(std::memory_order_relaxed)) == State::blocked)
    return;
  self.record->wait_words = 0;  // the jump leaves that wait
  wait_for_grant(nullptr, false);
  self.parked = false;
  end_wait_inside_libc();
}

void abandon_park() {
  if (cancel_block(*self.record, party_of_thread(self.index))) make_self_ready();
}

void unpin_self() {
  if (!active) return;
  os::set_affinity(0, &instance_mask, sizeof instance_mask);
  if (self.record) self.record->pinned_to = kNoCore;
  self.place = kNoCore;
}

void unpin_thread(ThreadIndex thread) {
  ThreadRecord<RealWorld>& record = segment.threads[thread];
  os::set_affinity(record.tid.load(std::memory_order_relaxed), &instance_mask,
                   sizeof instance_mask);
  // After the mask: who pins it meanwhile leaves it pinned, at worst without our knowledge.
  record.pinned_to = kNoCore;
}

void repin_self() {
  if (self.record && has_core()) {
    pin_self(core_of(self.record->state.load(std::memory_order_relaxed)));
  }
}

}  // namespace roost

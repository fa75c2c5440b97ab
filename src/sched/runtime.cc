// Attaches the process to its instance, through fork and exec.
#include "sched/runtime.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "sched/go_beside.h"
#include "sched/grant_wait.h"
#include "sched/keeper.h"
#include "sched/own_seat.h"
#include "sched/policy_file.h"
#include "sched/runtime_os.h"
#include "sched/runtime_threads.h"

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

void abandon_mapping() {
  queued_hint.store(&nothing_queued, std::memory_order_release);
  segment_abandon(segment);
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

int attach_process(bool may_load, const Known& known = {}) {
  int error = segment_attach(segment, stored_config(), process, known);
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

constinit std::atomic<const std::atomic<std::uint64_t>*> queued_hint{&nothing_queued};

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
const CpuSet& runtime_cpus() { return instance_mask; }

int runtime_start(const SegmentConfig& config, const LibcThreads& libc) {
  SegmentConfig& stored = stored_config();
  // Of the cores as many as there are: the rest is pages that nobody else would touch.
  memcpy(&stored, &config, offsetof(SegmentConfig, cores) + config.n_cores * sizeof(CoreInfo));
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

static constinit std::atomic<Nanoseconds> forked_after{0};
static constinit std::atomic<pid_t> forked_by{0};
void runtime_before_fork() {
  // By a handler, which has interrupted a section: the child may not come out of it. Once is
  // enough.
  if (self.depth) keep_handlers_out_of_sections();
  forked_by.store(os::getpid(), std::memory_order_relaxed);
  forked_after.store(os::clock_ns(CLOCK_BOOTTIME), std::memory_order_relaxed);
}

void runtime_after_fork() {
  trace::after_fork();
  if (!active) return;
  // In another namespace than its parent's the child knows no parent.
  Known known{};
  if (os::getppid() == forked_by.load(std::memory_order_relaxed))
    known = {true, segment.header->pid_namespace,
             os::start_time_between(forked_after.load(std::memory_order_relaxed),
                                    os::clock_ns(CLOCK_BOOTTIME))};
  // The parent's slot, record and keeper are not ours; the mapping is dropped and made anew. Where
  // a handler forks, what it has interrupted goes on in the child and finds nothing of it.
  bool is_interrupted = self.depth || self.parked;
  runtime_forget_threads();
  active = false;
  is_interrupted ? abandon_mapping() : drop_mapping();
  keeper_after_fork();
  if (restricted || attach_process(false, known) == 0) {
    // Nobody is left who would end a wait that the handler has interrupted just before it parks.
    if (self.waits && self.record) unpark(self.index);
    return;
  }
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

}  // namespace roost

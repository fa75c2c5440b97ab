// Measures, with the kernel's count of busy time, and moves the bits.
#include "sched/contention.h"

#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/runtime_os.h"

namespace roost {

using namespace contention;

namespace {

constinit History cores[kMaxMaskWords * 64] = {};  // the leader's
// The thread that had a core at the last tick, to see how long the kernel keeps it waiting.
struct Sample {
  std::int32_t pid, tid;
  Nanoseconds at;
  os::RunDelay delay;
  ThreadIndex thread;
  std::uint64_t awake_ns;        // so long it had waited for a core in the kernel's queue
  Nanoseconds late_ns, seen_ns;  // of this window
  bool shared;                   // in this window two threads of ours computed on the core,
  bool beside;                   // or some were beside its owner
};
Sample samples[kMaxMaskWords * 64];
CoreIndex next_sampled;
Nanoseconds window_began;
Nanoseconds last_waited;  // when threads last waited for cores
unsigned n_aside;
constinit Mean queued;  // threads
constinit Mean in_use;  // cores, by owners

// Threads that are handed a core often wait for the one before them, each time a little.
constexpr Nanoseconds kHandOver = 20'000;

std::uint64_t awake_ns(const Segment& s, ThreadIndex thread) {
  return s.threads[thread].awake_ns.load(std::memory_order_relaxed);
}

// One look begins a sample, another ends it: each reads a file, which takes some 8 us.
void sample(const Segment& s, CoreIndex core, Nanoseconds now) {
  constexpr Nanoseconds kShortest = 3'000'000, kPause = 12'000'000;
  Sample& last = samples[core];
  if (last.tid) {
    if (now - last.at < kShortest) return;
    os::RunDelay delay;
    if (os::run_delay(last.pid, last.tid, delay)) {
      Nanoseconds waited = delay.waited - last.delay.waited;
      Nanoseconds usual =
          awake_ns(s, last.thread) - last.awake_ns + (delay.runs - last.delay.runs) * kHandOver;
      last.late_ns += waited > usual ? waited - usual : 0;
      last.seen_ns += now - last.at;
    }
    last.tid = 0;
    last.at = now;
    return;
  }
  if (now - last.at < kPause) return;
  ThreadIndex owner = thread_of_owner(s.cores[core].owner.load(std::memory_order_acquire));
  if (owner >= s.header->n_threads) return;
  const ThreadRecord<RealWorld>& record = s.threads[owner];
  if (record.process >= s.header->n_processes) return;
  last.pid = s.processes[record.process].pid;
  last.at = now;
  last.thread = owner;
  last.awake_ns = awake_ns(s, last.thread);
  std::int32_t tid = record.tid.load(std::memory_order_relaxed);
  if (tid && os::run_delay(last.pid, tid, last.delay)) last.tid = tid;
}

// A few cores at each tick.
void sample_some(const Segment& s, Nanoseconds now) {
  constexpr CoreIndex kAtOnce = 4;
  CoreIndex n = s.header->n_cores;
  for (CoreIndex i = 0; i < std::min(kAtOnce, n); ++i) {
    sample(s, next_sampled, now);
    next_sampled = static_cast<CoreIndex>((next_sampled + 1) % n);
  }
}

void start_trial(Segment& s, CoreIndex core, Nanoseconds now) {
  set_bit(s.header->on_trial, core);
  cores[core].on_trial = true;
  cores[core].left = false;
  cores[core].tried = now;
}

void leave_alone(Segment& s, CoreIndex core) {
  set_bit(s.header->contended, core);
  cores[core].aside = true;
  ++n_aside;
}

void set_aside(Segment& s, CoreIndex core, Nanoseconds now) {
  start_trial(s, core, now);
  leave_alone(s, core);
}

// Whether threads come round so fast that a late one keeps all others waiting, or are so few.
bool wait_for_each_other(const Segment& s, Nanoseconds now) {
  unsigned waiting = 0, owned = 0;
  bool fast = false, fewer_cores = false;
  for (CoreIndex core = 0; core < s.header->n_cores; ++core) {
    waiting += s.cores[core].ready.load(std::memory_order_relaxed);
    ThreadIndex owner = thread_of_owner(s.cores[core].owner.load(std::memory_order_relaxed));
    unsigned& moments = cores[core].moments;
    owned += owner != kNoThread;
    if (owner < s.header->n_threads)
      moments = now < s.threads[owner].granted_ns + kMoment ? moments + 1 : 0;
    fast |= moments >= kLooks && !cores[core].aside;
    fewer_cores |= cores[core].for_a_while;
  }
  queued.add(waiting);
  // Else who needs a core could not show it until that one has been back for a while.
  if (!fewer_cores) in_use.add(owned);
  return fast || queued.permille() < 1000;
}

void leave_for_a_while(Segment& s, CoreIndex core, Nanoseconds now) {
  History& history = cores[core];
  history.while_lasting = next_while(history, now);
  history.back_at = now + history.while_lasting;
  history.for_a_while = true;
  leave_alone(s, core);
}

// Whether threads of ours keep its owner waiting. Of those beside it one alone is there for less
// than 0.5 ms.
bool keeps_itself_late(CoreIndex core) {
  return samples[core].shared || cores[core].beside.permille() > 500;
}

void leave_late_ones(Segment& s, Nanoseconds now) {
  bool each_waits = wait_for_each_other(s, now);
  for (CoreIndex core = 0; core < s.header->n_cores; ++core) {
    bool again = is_late_again(cores[core], runtime_ledger().late_at(core));
    if (again && each_waits && !keeps_itself_late(core) &&
        may_be_left(cores, s.header->n_cores, core, in_use.permille(), now))
      leave_for_a_while(s, core, now);
  }
}

void put_back(Segment& s, CoreIndex core) {
  clear_bit(s.header->contended, core);
  clear_bit(s.header->on_trial, core);
  runtime_ledger().serve_free(core);
  cores[core].aside = cores[core].on_trial = cores[core].for_a_while = false;
  cores[core].late_windows = 0;
  --n_aside;
}

bool has_owner(const Segment& s, CoreIndex core) {
  return s.cores[core].owner.load(std::memory_order_relaxed) != 0;
}

// Whether others use the core, which nobody of ours has used since `looked`. If that cannot be
// told, or somebody has, the answer is no.
bool others_use(const Segment& s, CoreIndex core, Nanoseconds now) {
  constexpr Nanoseconds kTick = 10'000'000;
  const History& history = cores[core];
  std::uint64_t busy = os::busy_ticks(s.core_info[core].os_cpu);
  bool ours =
      has_owner(s, core) || s.cores[core].passes.load(std::memory_order_relaxed) != history.passes;
  return !ours && busy != 0 && history.busy_ticks != 0 &&
         (busy - history.busy_ticks) * kTick * 1000 / (now - history.looked) >= kBusyPermille;
}

// A core that is not used by others was suspected by mistake, or is free by now. The next mistake
// has longer to wait.
void judge(Segment& s, CoreIndex core, Nanoseconds now) {
  History& history = cores[core];
  if (!history.on_trial) {
    if (now - history.tried > kNextTrial) start_trial(s, core, now);
    return;
  }
  if (!history.left && !has_owner(s, core)) {
    history.left = true;
    history.looked = now;
    history.busy_ticks = os::busy_ticks(s.core_info[core].os_cpu);
    history.passes = s.cores[core].passes.load(std::memory_order_relaxed);
  }
  if (now - (history.left ? history.looked : history.tried) < kTrial) return;
  if (history.left && others_use(s, core, now)) {
    clear_bit(s.header->on_trial, core);
    history.on_trial = false;
    history.pause = 0;
  } else {
    history.pause = std::clamp(2 * history.pause, kFirstPause, kLongestPause);
    history.not_before = now + history.pause;
    put_back(s, core);
  }
}

void end_window(Segment& s, Nanoseconds now) {
  CoreIndex n = s.header->n_cores;
  Nanoseconds length = now - window_began;
  window_began = now;
  for (CoreIndex core = 0; core < n; ++core) {
    std::uint32_t late = s.header->late_us[core].load(std::memory_order_relaxed);
    Sample& seen = samples[core];
    std::uint64_t granted_late = (late - cores[core].late_us) * 1'000'000ull / length;
    std::uint64_t kept_waiting = seen.seen_ns ? seen.late_ns * 1000 / seen.seen_ns : 0;
    std::uint64_t permille = seen.shared || seen.beside ? 0 : std::max(granted_late, kept_waiting);
    cores[core].late_us = late;
    cores[core].late_permille = static_cast<std::uint32_t>(std::min<std::uint64_t>(permille, 1000));
    bool late_again = permille >= kLatePermille;
    if (late_again) runtime_ledger().note_late(core, now);
    cores[core].late_windows = late_again ? cores[core].late_windows + 1 : 0;
    seen.late_ns = seen.seen_ns = 0;
    seen.shared = seen.beside = false;
  }
  if (length > 4 * kWindow) return;  // nobody looked for a while
  if (n_aside && all_are_late(cores, n)) {
    for (CoreIndex core = 0; core < n; ++core)
      if (cores[core].aside) put_back(s, core);
    return;
  }
  CoreIndex worst = to_set_aside(cores, n, now);
  if (worst != kNoCore) set_aside(s, worst, now);
}

}  // namespace

void contention_begin(Segment& s) {
  n_aside = 0;
  queued = Mean();
  in_use = Mean(s.header->n_cores);  // until it is known that they are fewer
  window_began = 0;
  for (CoreIndex core = 0; core < s.header->n_cores; ++core) {
    cores[core] = {};
    samples[core] = {};
    clear_bit(s.header->contended, core);
    clear_bit(s.header->on_trial, core);
    runtime_ledger().serve_free(core);
  }
}

void contention_tick(Segment& s, Nanoseconds now, bool threads_wait) {
  constexpr Nanoseconds kNobodyWaits = 500'000'000;
  if (threads_wait) last_waited = now;
  for (CoreIndex core = 0; n_aside && core < s.header->n_cores; ++core) {
    if (!cores[core].aside) continue;
    bool is_over =
        cores[core].for_a_while ? now >= cores[core].back_at : now - last_waited > kNobodyWaits;
    if (is_over) {
      put_back(s, core);
      continue;
    }
    if (!cores[core].on_trial) runtime_ledger().serve_free(core);
    if (!cores[core].for_a_while) judge(s, core, now);
  }
  leave_late_ones(s, now);
  // Where all wait for a thread that is kept from running, nobody is READY for a moment.
  if (now - last_waited > kNobodyWaits) return;
  if (threads_wait) sample_some(s, now);
  if (now - window_began >= kWindow) end_window(s, now);
}

void contention_shared(CoreIndex core) { samples[core].shared = true; }

void contention_beside(CoreIndex core, Nanoseconds age) {
  constexpr Nanoseconds kLately = 100'000'000, kMoment = 4'000'000;
  samples[core].beside |= age < kLately;
  cores[core].beside.add(age < kMoment);
}

bool contention_any() { return n_aside != 0; }

}  // namespace roost

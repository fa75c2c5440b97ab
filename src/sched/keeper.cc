// The keeper thread: leader election, death watch, watchdog.
#include "sched/keeper.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>

#include <algorithm>
#include <limits>

#include "base/thread_stack.h"
#include "sched/ask_owner.h"
#include "sched/at_large.h"
#include "sched/contention.h"
#include "sched/keeper_here.h"
#include "sched/overtaking.h"
#include "sched/runtime_os.h"
#include "sched/watchdog.h"

namespace roost {
namespace {

// A leader that does not tick for so long is stopped.
constexpr Nanoseconds kBusySilence = 100'000'000, kQuietSilence = 500'000'000;
constexpr std::uint32_t kGraceTicks = 2;

Segment* segment = nullptr;
ProcessIndex process = kNoProcess;
LibcThreads libc_threads;
KeeperHere<RealWorld> here;
std::atomic<bool> end_wanted{false};
std::atomic<bool> ending{false};  // a keeper that has given up may still look at the segment
Nanoseconds (*chore)() = [] { return kQuietSilence; };
bool (*may_start)() = [] { return true; };
constinit std::atomic<bool> looks{false};                   // a thread in the keeper's place
constinit std::atomic<Nanoseconds> looks_again{kBusyTick};  // so long after its last look

// The leader's memory between looks.
constinit Watchdog watchdog{};
constinit Overtaking overtaking{};
constinit AtLarge at_large{};
Nanoseconds patience;  // the policy's parameter of that name
struct Watch {
  int fd;
  std::uint32_t word;  // the slot's word when the watch was opened: whom it watches
};
Watch watches[kMaxProcesses];
pollfd pidfds[kMaxProcesses];
int watched_end;  // no slot from here on is in use

// kNoProcess for nobody, and for what no process wrote.
ProcessIndex process_of(const Segment& s, Party party) {
  if (is_process(party)) return process_of_party(party);
  ThreadIndex thread = party - 1;
  return thread < s.header->n_threads ? s.threads[thread].process : kNoProcess;
}

void free_records_of(Segment& s, ProcessIndex dead) {
  for_each_thread(s, [&](ThreadIndex i, const ThreadRecord<RealWorld>& record) {
    // One that somebody is just taking is FREE still, and names the process that had it before.
    State state = state_of(record.state.load(std::memory_order_acquire));
    if (state != State::free && record.process == dead) segment_free_thread(s, i);
  });
}

void retire_slot(Segment& s, ProcessSlot<RealWorld>& slot) {
  for (int i = 0; i < kCounters; ++i) {
    s.header->retired[i].fetch_add(slot.retired[i].load(std::memory_order_relaxed),
                                   std::memory_order_relaxed);
  }
  slot.state.store(
      with_process_state(slot.state.load(std::memory_order_relaxed), ProcessState::free),
      std::memory_order_release);
}

bool image_replaced(const ProcessSlot<RealWorld>& slot) {
  std::int32_t keeper = slot.keeper_tid.load(std::memory_order_relaxed);
  return slot.exec_pending.load(std::memory_order_relaxed) && keeper &&
         os::tgkill(slot.pid, keeper, 0) == -ESRCH;
}

// Opens the watch on a slot's tenant. False if it is gone already.
bool open_watch(const ProcessSlot<RealWorld>& slot, std::uint32_t word, Watch& watch) {
  watch = {os::pidfd_open(slot.pid), word};
  return os::process_alive(slot.pid, slot.start_time);
}

// Judged by the word we read: if the slot has changed hands since, this does nothing.
bool declare_dead(Segment& s, ProcessSlot<RealWorld>& slot, std::uint32_t word) {
  if (!slot.state.compare_exchange_strong(word, with_process_state(word, ProcessState::dead),
                                          std::memory_order_acq_rel))
    return false;
  slot.dead_ticks = 0;
  s.header->reclaimed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void watch_process(Segment& s, ProcessIndex index) {
  ProcessSlot<RealWorld>& slot = s.processes[index];
  pollfd& polled = pidfds[index];
  Watch& watch = watches[index];
  std::uint32_t word = slot.state.load(std::memory_order_acquire);
  ProcessState state = process_state(word);
  bool same_tenant = watch.word / kNextTenant == word / kNextTenant;
  if (polled.fd >= 0 && (!same_tenant || !is_taken(state) || state == ProcessState::dead)) {
    os::close(polled.fd);
    polled = {-1, 0, 0};
  }
  if (!is_taken(state)) return;
  if (state != ProcessState::dead) {
    bool gone = polled.fd >= 0 && polled.revents != 0;
    if (polled.fd < 0) {
      gone = !open_watch(slot, word, watch);
      polled = {watch.fd < 0 ? -1 : watch.fd, POLLIN, 0};
    }
    if (!gone && !image_replaced(slot)) return;
    if (!declare_dead(s, slot, word)) return;
  }
  keeper_reclaim(s, index);
}

// The same without descriptors, which would be the program's.
void judge_process(Segment& s, ProcessIndex index) {
  ProcessSlot<RealWorld>& slot = s.processes[index];
  std::uint32_t word = slot.state.load(std::memory_order_acquire);
  ProcessState state = process_state(word);
  if (!is_taken(state)) return;
  bool lives = os::process_alive(slot.pid, slot.start_time) && !image_replaced(slot);
  if (state != ProcessState::dead && (lives || !declare_dead(s, slot, word))) return;
  keeper_reclaim(s, index);
}

// The watchdog's hands on the segment.
class Hands {
 public:
  explicit Hands(Segment& s) : s_(s) {}
  std::uint32_t passes(CoreIndex core) const {
    return s_.cores[core].passes.load(std::memory_order_relaxed);
  }

  bool find_owner(CoreIndex core) {
    thread_ = thread_of_owner(s_.cores[core].owner.load(std::memory_order_acquire));
    if (thread_ >= s_.header->n_threads) return false;
    std::uint32_t word = record().state.load(std::memory_order_acquire);
    if (state_of(word) != State::running || core_of(word) != core ||
        record().process >= kMaxProcesses)
      return false;
    tid_ = record().tid.load(std::memory_order_relaxed);
    return true;
  }

  // Waits for the kernel's own locks (mmap, mprotect beside page faults) are soon over.
  bool sleeps(CoreIndex) const {
    constexpr Nanoseconds kSoon = 200'000;
    char state = os::thread_run_state(slot().pid, tid_);
    if (state == 'D') {
      os::sleep_for(kSoon);
      state = os::thread_run_state(slot().pid, tid_);
    }
    return state != 'R';
  }

  // An owner that waits for others by spinning then yields (preload/nudge.cc).
  bool ask(CoreIndex core) {
    int signal = static_cast<int>(slot().nudge_signal.load(std::memory_order_relaxed));
    return ask_owner(record(), core, slot().pid, tid_, signal);
  }
  std::uint32_t waits_found() const {
    return s_.header->waits_found.load(std::memory_order_relaxed);
  }
  bool refuses(CoreIndex) const { return record().nudge.is_refused(); }
  bool answered(CoreIndex) const { return !record().nudge.is_coming(); }

  // Killed before it woke the thread, a granter leaves it asleep.
  bool wake(CoreIndex) { return os::futex_wake(&record().state, 1, os::FutexScope::shared) > 0; }
  void take(CoreIndex core, bool sleeps) {
    if (!runtime_ledger().rescue(core, thread_, sleeps)) return;
    at_large.add(thread_, os::now());
    if (!sleeps) contention_shared(core);
  }

  // For AtLarge.
  bool is_at_large(ThreadIndex thread) {
    thread_ = thread;
    tid_ = record().tid.load(std::memory_order_relaxed);
    return roost::is_at_large(record().state.load(std::memory_order_relaxed)) &&
           record().process < kMaxProcesses;
  }
  bool uses_cpu(ThreadIndex) const { return os::thread_run_state(slot().pid, tid_) == 'R'; }
  void ask_at_large(ThreadIndex) { ask(kNoCore); }
  // It runs at large.
  void tell_process_of(ThreadIndex thread, Nanoseconds now) {
    ProcessIndex process = s_.threads[thread].process;
    if (process < kMaxProcesses)
      s_.processes[process].at_large_ns.store(now, std::memory_order_relaxed);
  }

 private:
  ThreadRecord<RealWorld>& record() const { return s_.threads[thread_]; }
  const ProcessSlot<RealWorld>& slot() const { return s_.processes[record().process]; }

  Segment& s_;
  ThreadIndex thread_ = kNoThread;  // the owner found last
  std::int32_t tid_ = 0;
};

// Threads beside cores, which come and go by themselves: one that has been there for long is asked
// as others at large are. Owners are late there, and that is no wonder.
void look_beside(Segment& s, Hands& hands, Nanoseconds now) {
  constexpr Nanoseconds kLong = 4'000'000, kNever = std::numeric_limits<Nanoseconds>::max();
  for (CoreIndex core = 0; core < s.header->n_cores; ++core) {
    Nanoseconds youngest = kNever;
    for (auto& word : s.cores[core].beside) {
      PlaceBeside place(word);
      ThreadIndex thread = place.thread();
      if (thread >= s.header->n_threads) continue;
      Nanoseconds age = place.age(now);
      youngest = std::min(youngest, age);
      if (age >= kLong && hands.is_at_large(thread) && !at_large.knows(thread))
        at_large.add(thread, now);
    }
    contention_beside(core, youngest);
  }
}

void watch_cores(Segment& s) {
  Nanoseconds now = os::now();
  overtaking.look(runtime_ledger(), now, [&](ThreadIndex word) {
    return s.thread_bits[word].load(std::memory_order_relaxed);
  });
  bool threads_wait = runtime_ledger().find_queued();
  contention_tick(s, now, threads_wait);
  if (threads_wait) s.header->crowded_ns.store(now, std::memory_order_relaxed);
  Hands hands(s);
  look_beside(s, hands, now);
  at_large.look(hands, hands.waits_found(), now);
  at_large.for_each_running([&](ThreadIndex thread) { hands.tell_process_of(thread, now); });
  std::uint32_t beside = at_large.running();
  if (s.header->at_large.load(std::memory_order_relaxed) != beside)
    s.header->at_large.store(beside, std::memory_order_relaxed);
  watchdog.look(hands, s.header->n_cores, threads_wait, beside > 0, patience, now);
}

// What the leader before knew is lost.
void begin_to_watch(Segment& s) {
  contention_begin(s);
  watchdog.begin();
  at_large = {};
  for_each_thread(s, [](ThreadIndex i, const ThreadRecord<RealWorld>& record) {
    if (is_at_large(record.state.load(std::memory_order_relaxed))) at_large.add(i, os::now());
  });
}

// Of any process: who runs without a core, and may come to wait by spinning. (Who sleeps will not;
// who is READY looks at the instance himself.)
bool threads_are_to_be_watched() {
  Hands hands(*segment);
  return any_thread(*segment, [&](ThreadIndex thread, const ThreadRecord<RealWorld>&) {
    return hands.is_at_large(thread) && hands.uses_cpu(thread);
  });
}

// So that they queue for a core, where somebody looks, if they have come to wait.
void ask_those_at_large() {
  Hands hands(*segment);
  for_each_thread(*segment, [&](ThreadIndex thread, const ThreadRecord<RealWorld>&) {
    if (hands.is_at_large(thread)) hands.ask_at_large(thread);
  });
}

// In the word that says who leads.
std::uint32_t own_name() { return process + 1u; }
LedBy<RealWorld> led_by() { return LedBy<RealWorld>(segment->header->led_by); }

// Whether this keeper is to end: its process has had no thread but one for a while, and it does not
// lead those that need it. It is then, to others and to the kernel, what it was before. [keeper-1]
bool is_superfluous() {
  constexpr Nanoseconds kAWhile = 1'000'000'000;
  static Nanoseconds since;
  auto is_single = [] { return runtime_thread_count() <= 1; };
  // Without any thread of its own, the process would last as long as its keeper.
  bool wanted = end_wanted.load(std::memory_order_relaxed) || runtime_thread_count() == 0;
  Nanoseconds now = os::now();
  bool leads = led_by().is(own_name());
  auto serves_others = [&] { return !wanted && threads_are_to_be_watched(); };
  if (!is_single() || (leads && !wanted && at_large.running() > 0)) {
    since = 0;
    return false;
  }
  if (since == 0) since = now;
  if (!wanted && now - since < kAWhile) return false;
  since = 0;
  ending.store(true, std::memory_order_relaxed);
  if (keeper_ends(here, led_by(), own_name(), is_single, serves_others)) {
    if (leads && wanted) ask_those_at_large();
    return true;
  }
  ending.store(false, std::memory_order_release);
  return false;
}

// Until this keeper is to end.
void lead() {
  led_by().set(own_name());
  begin_to_watch(*segment);
  for (;;) {
    segment->header->leader_ticks.fetch_add(1, std::memory_order_relaxed);
    keeper_look(*segment, process);
    chore();
    if (is_superfluous()) return;
    bool busy = runtime_ledger().any_queued() || contention_any() || at_large.any();
    timespec timeout = os::to_timespec(watchdog.next_tick(busy));
    long polled = os::raw_syscall(SYS_ppoll, os::arg(pidfds), watched_end, os::arg(&timeout), 0, 0);
    // More processes than this one may have files: then the start times are asked, at every tick.
    if (polled < 0 && polled != -EINTR) os::raw_syscall(SYS_nanosleep, os::arg(&timeout), 0);
  }
}

// Whether the caller leads now; waits for so long at most.
bool take_lead(Nanoseconds longest) {
  timespec until = os::to_timespec(os::now() + longest);
  int error = libc_threads.mutex_clocklock(&segment->header->leader, CLOCK_MONOTONIC, &until);
  if (error == EOWNERDEAD) libc_threads.mutex_consistent(&segment->header->leader);
  return error != ETIMEDOUT;
}

// The leader may be stopped (SIGSTOP, a debugger, a frozen group) or starved. Its lock cannot be
// had then, and what it has begun with the dead is its own; but one of the others at a time watches
// the cores in its place, until it ticks again. True if the caller leads after all.
bool stand_in(std::uint32_t tick) {
  auto& ticks = segment->header->leader_ticks;
  for (bool begun = false; ticks.compare_exchange_strong(tick, tick + 1, std::memory_order_relaxed);
       begun = true) {
    ++tick;
    if (!begun) begin_to_watch(*segment);
    watch_cores(*segment);
    chore();
    if (take_lead(kBusyTick)) return true;
  }
  return false;
}

// False if this keeper is to end before it leads.
bool follow_until_leader() {
  auto& ticks = segment->header->leader_ticks;
  for (;;) {
    std::uint32_t before = ticks.load(std::memory_order_relaxed);
    Nanoseconds silence = runtime_ledger().any_queued() ? kBusySilence : kQuietSilence;
    for (Nanoseconds now = os::now(), end = now + silence; now < end; now = os::now())
      if (take_lead(std::min(chore(), end - now))) return true;
    if (is_superfluous()) return false;
    bool silent = ticks.load(std::memory_order_relaxed) == before;
    if (silent && stand_in(before)) return true;
  }
}

void* keeper_main(void*) {
  os::raw_syscall(SYS_prctl, PR_SET_NAME, os::arg("roost-keeper"));
  // A private, empty file table: nothing of the program is kept open here, nothing of ours shows
  // there.
  long closed = os::raw_syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
  if (closed < 0) return nullptr;  // before Linux 5.9: others of the instance may still watch
  segment->processes[process].keeper_tid.store(os::gettid(), std::memory_order_relaxed);
  unpin_self();
  trace::thread_begins();
  for (pollfd& polled : pidfds) polled = {-1, 0, 0};
  // A thread that looks in its place is soon done, unless it ends or jumps away from there.
  constexpr int kPatience = 100;
  constexpr Nanoseconds kMoment = 100'000;
  for (int i = 0; i < kPatience && looks.load(std::memory_order_acquire); ++i)
    os::sleep_for(kMoment);
  if (follow_until_leader()) lead();
  // The leader's lock is robust: the kernel hands it on.
  trace::thread_ends();
  auto& tid = segment->processes[process].keeper_tid;
  std::int32_t own = os::gettid();  // unless there is a new one already
  tid.compare_exchange_strong(own, 0, std::memory_order_relaxed);
  ending.store(false, std::memory_order_release);
  return nullptr;
}

}  // namespace

void keeper_bind(Segment& s, ProcessIndex p, const Policy& policy, const LibcThreads& libc) {
  segment = &s;
  process = p;
  libc_threads = libc;
  int parameter = find_parameter(policy, "patience");
  patience = parameter < 0 ? 20'000'000 : s.header->parameters[parameter];
}

bool keeper_started() { return here.is_started(); }

void keeper_set_chore(Nanoseconds (*to_do)()) { chore = to_do; }

void keeper_want_end(bool wanted) { end_wanted.store(wanted, std::memory_order_relaxed); }

void keeper_await_end() {
  while (ending.load(std::memory_order_acquire)) os::yield();
}

void keeper_after_fork() {
  here.forget();
  looks.store(false, std::memory_order_relaxed);
  ending.store(false, std::memory_order_relaxed);
}

void keeper_start() {
  if (!here.is_to_start()) return;
  if (runtime_thread_count() <= 1 && !may_start()) return here.failed_to_start();
  if (!start_helper(keeper_main)) here.failed_to_start();
}

void keeper_start_unless_led() {
  if (!led_by().is_watched()) keeper_start();
}

Nanoseconds keeper_next_look() {
  return led_by().anybody() ? kQuietTick : looks_again.load(std::memory_order_relaxed);
}

void keeper_leaves() {
  if (!led_by().is(own_name())) return;
  led_by().ends(own_name(), [] { return false; });
  ask_those_at_large();
}

void keeper_set_permit(bool (*permit)()) { may_start = permit; }

void keeper_look_instead() {
  if (runtime_thread_count() > 1) keeper_start();
  if (keeper_started()) return;
  constexpr Nanoseconds kDeathTick = 20'000'000;  // asking whether a process lives takes 10 us
  static std::uint32_t tick_before;
  static bool watches;  // since its last look, and nobody else
  static Nanoseconds judged;
  if (looks.exchange(true, std::memory_order_acquire)) return;
  auto& ticks = segment->header->leader_ticks;
  std::uint32_t tick = ticks.load(std::memory_order_relaxed);
  bool goes_on = watches;
  watches = tick == tick_before;
  if (watches) {
    Critical critical;
    // Who has the lock may be stopped: then what died remains to be cleaned up after.
    bool leads = take_lead(0);
    if (leads || ticks.compare_exchange_strong(tick, tick + 1, std::memory_order_relaxed)) {
      if (leads) {
        tick = ticks.fetch_add(1, std::memory_order_relaxed);
        led_by().set(0);
      }
      if (!goes_on) begin_to_watch(*segment);
      Nanoseconds now = os::now();
      bool judges = leads && now - judged >= kDeathTick;
      for (ProcessIndex i = 0; judges && i < segment->header->n_processes; ++i)
        if (i != process) judge_process(*segment, i);
      if (judges) judged = now;
      watch_cores(*segment);
      looks_again.store(watchdog.next_tick(true), std::memory_order_relaxed);
      ++tick;
    } else {
      watches = false;
    }
    if (leads) libc_threads.mutex_unlock(&segment->header->leader);
  }
  tick_before = tick;
  bool to_lead = watches && at_large.running() > 0;
  looks.store(false, std::memory_order_release);
  if (to_lead) keeper_start_unless_led();
}

bool start_helper(void* (*run)(void*)) {
  NoSignals of_its_own;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  constexpr std::size_t kStack = 128 * 1024;
  pthread_attr_setstacksize(&attributes, stack_beside_thread_locals(kStack, attributes));
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  bool runs = libc_threads.create(&thread, &attributes, run, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  return runs;
}

bool keeper_reclaim(Segment& s, ProcessIndex dead) {
  ProcessSlot<RealWorld>& slot = s.processes[dead];
  // The records are freed later; until then a queued one is dropped and stays unreachable.
  runtime_ledger().purge(dead, [](ThreadIndex) {});
  auto is_dead = [&](Party party) { return process_of(s, party) == dead; };
  bool found = runtime_ledger().take_back_cores(is_dead);
  runtime_ledger().finish_for(is_dead);
  if (found || ++slot.dead_ticks < kGraceTicks) return false;
  free_records_of(s, dead);
  retire_slot(s, slot);
  return true;
}

void keeper_look(Segment& s, ProcessIndex own) {
  watched_end = 0;
  for (ProcessIndex i = 0; i < s.header->n_processes; ++i) {
    if (i == own) continue;
    watch_process(s, i);
    if (pidfds[i].fd >= 0) watched_end = i + 1;
  }
  watch_cores(s);
}

}  // namespace roost

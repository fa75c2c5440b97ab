// What the runtime and the keeper do around the ledger, in simulated time.
#include "sim/roost_scheduler.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace roost::sim {

RoostScheduler::RoostScheduler(const Policy& policy, const Parameters& given) : policy_(policy) {
  for (unsigned i = 0; i < policy.n_parameters; ++i) {
    auto found = given.find(policy.parameters[i].name);
    parameters_.push_back(found == given.end() ? policy.parameters[i].standard : found->second);
  }
  if (const PlugIn* plug_in = plug_in_of(policy)) plug_in->forget_fault();
  idle_spin_ = parameter("idle_spin");
  patience_ = parameter("patience");
}

std::uint64_t RoostScheduler::parameter(const char* name) const {
  int found = find_parameter(policy_, name);
  return found < 0 ? 0 : parameters_[static_cast<std::size_t>(found)];
}

void RoostScheduler::attach(World& world) {
  world_ = &world;
  CoreIndex n = world.n_cores();
  info_ = world.machine().core_info();
  cores_ = std::vector<CoreSlot<PlainWorld>>(n);
  below_ = std::vector<Below>(n);
  fifos_.assign(std::size_t{n} * kMaxProcesses, Fifo{kNoThread, kNoThread, 0});
  idle_ = std::vector<MaskWord<PlainWorld>>(n / 64 + 1);
  queued_ = std::vector<MaskWord<PlainWorld>>(n / 64 + 1);
  for (CoreIndex core = 0; core < n; ++core) idle_[core / 64].bits.fetch_or(1ull << (core % 64));
  grow();
}

// The tables hold addresses, the ledger nothing else: it is made anew when records move.
void RoostScheduler::grow() {
  std::size_t known = records_.size();
  records_.resize(std::max<std::size_t>(64, known * 2));
  for (std::size_t i = known; i < records_.size(); ++i) {
    records_[i].next = kNoThread;
    records_[i].pinned_to = kNoCore;
  }
  LedgerTables<PlainWorld> tables{
      cores_.data(),     info_.data(),      records_.data(),
      fifos_.data(),     idle_.data(),      queued_.data(),
      world_->n_cores(), kMaxProcesses,     static_cast<ThreadIndex>(records_.size()),
      &policy_,          parameters_.data()};
  ledger_.emplace(tables, os_);
}

void RoostScheduler::act_as(ThreadIndex thread) {
  me_ = thread == kNoThread ? party_of_process(0) : party_of_thread(thread);
  my_process_ = thread == kNoThread ? kNoProcess : world_->process_of(thread);
  pin_cost_ = 0;
}

// `thread`, READY and in nobody's queue, asks for a core. If it gets an idle one without having
// slept, it goes on after `latency_if_idle`, or sooner where a thread that has ended spins: that is
// the one that is used again (the thread cache).
void RoostScheduler::make_ready(ThreadIndex thread, Nanoseconds latency_if_idle,
                                Nanoseconds latency_if_kept) {
  Record& record = records_[thread];
  ledger_->make_ready(thread);
  if (state(thread) == State::running) {
    if (world_->core_of(thread) != kNoCore) return;  // it slept, and was woken
    auto queued = [&](const Below& below) {
      return std::find(below.shared.begin(), below.shared.end(), thread) != below.shared.end();
    };
    CoreIndex core = roost::core_of(record.state.load());
    if (queued(below_[core])) return;
    bool kept = world_->polls(core) && below_[core].spinner == kNoThread;
    Nanoseconds latency = kept ? std::min(latency_if_idle, latency_if_kept) : latency_if_idle;
    // The kept thread was pinned there before.
    if (record.pinned_to != core && !(kept && latency_if_kept != ~0ull))
      latency += world_->costs().affinity;
    record.pinned_to = core;
    run(core, thread, latency);
    return;
  }
  announce_sleep(record);
  CoreIndex queued_on = queue_of(record.state.load());
  if (queued_on != kNoCore) world_->kick(queued_on);
  ensure_watch();
}

// The ledger wakes a sleeper that it has granted a core.
void RoostScheduler::woken(ThreadIndex thread) {
  CoreIndex core = roost::core_of(records_[thread].state.load());
  Nanoseconds latency;
  if (core == left_) {
    latency = world_->costs().handoff + pin_cost_;
    if (world_->on_core(core) == leaver_ && leaver_ != kNoThread) world_->take_off(core);
  } else {
    latency = world_->wake_latency(core) + pin_cost_;
    world_->charge(world_->costs().wake_call + pin_cost_);
  }
  pin_cost_ = 0;
  run(core, thread, latency);
}

// The kernel gets `thread` to run on `core`, where others may compute already.
void RoostScheduler::run(CoreIndex core, ThreadIndex thread, Nanoseconds latency) {
  stop_spinner(core);
  records_[thread].wait_words = 0;
  CoreIndex sibling = world_->machine().sibling(core);
  if (policy_.spin_ends_with_sibling && sibling != kNoCore && world_->polls(sibling)) {
    stop_spinner(sibling);
    world_->poll(sibling, false);
  }
  Below& below = below_[core];
  if (!world_->in_use(core)) {
    world_->dispatch(core, thread, latency);
  } else {
    share(core, thread, true);
  }
  if (!below.shared.empty() && !below.slicing) {
    below.slicing = true;
    world_->set_timer(world_->now() + world_->machine().kernel_slice, kSlice, core);
  }
}

void RoostScheduler::share(CoreIndex core, ThreadIndex thread, bool first) {
  std::deque<ThreadIndex>& shared = below_[core].shared;
  shared.insert(first ? shared.begin() : shared.end(), thread);
  ++sharing_;
}

void RoostScheduler::stop_spinner(CoreIndex core) {
  Below& below = below_[core];
  ++below.spin_stamp;
  if (below.spinner == kNoThread) return;
  ThreadIndex spinner = below.spinner;
  below.spinner = kNoThread;
  if (state(spinner) != State::running) announce_sleep(records_[spinner]);
}

// Nobody needs `core`: whoever left it spins there for a while.
void RoostScheduler::idle(CoreIndex core, ThreadIndex spinner) {
  Below& below = below_[core];
  CoreIndex sibling = world_->machine().sibling(core);
  bool warm = policy_.spin_ends_with_sibling && sibling != kNoCore && world_->in_use(sibling);
  if (idle_spin_ == 0 || warm) {
    if (spinner != kNoThread) announce_sleep(records_[spinner]);
    return;
  }
  below.spinner = spinner;
  world_->poll(core, true);
  world_->set_timer(world_->now() + idle_spin_, kSpinEnd, core, ++below.spin_stamp);
}

// `leaver` is off `core`, its own in the ledger: the next gets it.
void RoostScheduler::release(CoreIndex core, ThreadIndex leaver, bool spins) {
  left_ = core;
  ledger_->release({core, cores_[core].owner.load()}, leaver == kNoThread);
  left_ = kNoCore;
  next_below(core);
  bool waits = leaver != kNoThread && state(leaver) == State::blocked;
  if (!world_->in_use(core) && cores_[core].owner.load() == 0 && spins) {
    idle(core, waits ? leaver : kNoThread);
  } else if (waits) {
    announce_sleep(records_[leaver]);
  }
}

// If the CPU is empty, a thread that shares it goes on.
void RoostScheduler::next_below(CoreIndex core) {
  Below& below = below_[core];
  if (world_->in_use(core) || below.shared.empty()) return;
  ThreadIndex next = below.shared.front();
  below.shared.pop_front();
  --sharing_;
  world_->dispatch(core, next, world_->costs().switch_threads);
}

void RoostScheduler::starts(ThreadIndex thread, ThreadIndex parent) {
  while (thread >= records_.size()) grow();
  Record& record = records_[thread];
  record.process = world_->process_of(thread);
  record.pinned_to = kNoCore;
  record.wait_words = 0;
  for (std::uint64_t& word : record.policy_words) word = 0;
  // A new thread has the affinity of the one that starts it, so that it begins on that core.
  CoreIndex core = parent == kNoThread ? kNoCore : world_->core_of(parent);
  record.last_core = core == kNoCore ? CoreIndex{0} : core;
  record.state.store(static_cast<std::uint32_t>(State::external));
  act_as(world_->acting());
  hold_ready(record, me_);
  make_ready(thread, world_->costs().wake_halted, world_->costs().cache_line);
}

void RoostScheduler::wakes(ThreadIndex thread, ThreadIndex waker) {
  act_as(waker);
  world_->charge(kReadyCost);
  CoreIndex spins_on = kNoCore;
  CoreIndex last = records_[thread].last_core;
  if (below_[last].spinner == thread) spins_on = last;
  if (!unpark(records_[thread], me_)) return;
  Nanoseconds latency =
      spins_on != kNoCore ? world_->costs().cache_line : world_->costs().wake_halted;
  if (spins_on != kNoCore) below_[last].spinner = kNoThread;
  make_ready(thread, latency);
}

void RoostScheduler::blocks(ThreadIndex thread) {
  CoreIndex on = world_->core_of(thread);
  act_as(thread);
  world_->take_off(on);
  BlockResult begun = begin_block(records_[thread]);
  if (begun.block == Block::release) {
    assert(begun.core == on);
    release(on, thread, true);
  } else {
    announce_sleep(records_[thread]);
    next_below(on);
  }
}

void RoostScheduler::enters_kernel(ThreadIndex thread) {
  leaves(thread, State::external, thread, false);
}

// The kernel wakes it where it is pinned; then it asks for a core.
void RoostScheduler::leaves_kernel(ThreadIndex thread) {
  act_as(thread);
  hold_ready(records_[thread], me_);
  make_ready(thread, world_->wake_latency(records_[thread].last_core));
}

void RoostScheduler::ends(ThreadIndex thread) { leaves(thread, State::detached, kNoThread, true); }

void RoostScheduler::leaves(ThreadIndex thread, State next, ThreadIndex leaver, bool spins) {
  CoreIndex on = world_->core_of(thread);
  act_as(thread);
  world_->take_off(on);
  if (ledger_->leave_core(thread, next).core != kNoCore) {
    release(on, leaver, spins);
  } else {
    next_below(on);
  }
}

bool RoostScheduler::yields(ThreadIndex thread, bool waiting) {
  Record& record = records_[thread];
  CoreIndex on = world_->core_of(thread);
  act_as(thread);
  if (state(thread) != State::running) {  // shares the core: gives it up, and asks for one
    world_->take_off(on);
    hold_ready(record, me_);
    make_ready(thread, world_->costs().yield_switch);
    next_below(on);
    return true;
  }
  cores_[on].passes.fetch_add(1);
  record.wait_words = waiting;
  leaver_ = thread;
  left_ = on;
  SimLedger::YieldResult result = ledger_->yield(thread, ledger_->core_of(thread), kStealAge);
  leaver_ = kNoThread;
  left_ = kNoCore;
  if (result == SimLedger::YieldResult::alone) {
    record.wait_words = 0;
    return false;
  }
  if (state(thread) == State::running) {  // granted another core at once
    if (world_->core_of(thread) == kNoCore) {
      CoreIndex core = roost::core_of(record.state.load());
      run(core, thread, world_->wake_latency(core) + world_->costs().affinity);
      record.pinned_to = core;
    }
  } else {
    announce_sleep(record);
    ensure_watch();
  }
  return true;
}

void RoostScheduler::timer(std::uint32_t what, std::uint32_t who, std::uint64_t stamp) {
  auto core = static_cast<CoreIndex>(who);
  if (what == kWatch) {
    watch();
  } else if (what == kSpinEnd) {
    if (below_[core].spin_stamp != stamp) return;
    stop_spinner(core);
    world_->poll(core, false);
  } else {
    Below& below = below_[core];
    below.slicing = !below.shared.empty();
    if (!below.slicing) return;
    if (world_->in_use(core)) {
      ThreadIndex current = world_->on_core(core);
      world_->take_off(core);
      share(core, current, false);
    }
    next_below(core);
    world_->set_timer(world_->now() + world_->machine().kernel_slice, kSlice, core);
  }
}

void RoostScheduler::ensure_watch() {
  if (watching_ || patience_ == 0) return;
  watching_ = true;
  world_->set_timer(world_->now() + kTick, kWatch, 0);
}

// The keeper's look at cores that pass no scheduling point while threads wait (PROTOCOL.md, "The
// watchdog").
void RoostScheduler::watch() {
  watching_ = false;
  if (!ledger_->find_queued()) return;
  for (CoreIndex core = 0; core < world_->n_cores(); ++core) {
    Below& below = below_[core];
    std::uint32_t passes = cores_[core].passes.load();
    if (passes != below.passes) {
      below.passes = passes;
      below.stands_since = world_->now();
      continue;
    }
    std::uint32_t owner = cores_[core].owner.load();
    bool runs = owner != 0 && !(owner & kClaimedCore);
    if (!runs || world_->now() - below.stands_since < patience_) continue;
    if (!ledger_->find_queued()) break;
    ThreadIndex thread = thread_of_owner(owner);
    act_as(kNoThread);
    // It goes on beside the next: whether it is on the CPU just now or not.
    left_ = core;
    if (world_->on_core(core) == thread) {
      world_->take_off(core);
      share(core, thread, false);
    }
    ledger_->rescue(core, thread, false);
    left_ = kNoCore;
    next_below(core);
    below.passes = cores_[core].passes.load();
    below.stands_since = world_->now();
  }
  ensure_watch();
}

std::vector<ThreadIndex> RoostScheduler::queue(CoreIndex core) {
  std::vector<ThreadIndex> found;
  ledger_->visit_queue(core, [&](ThreadIndex thread) { found.push_back(thread); });
  return found;
}

std::string RoostScheduler::broken() {
  bool free_core = false;
  for (CoreIndex core = 0; core < world_->n_cores(); ++core) {
    std::uint32_t owner = cores_[core].owner.load();
    std::string name = "core " + std::to_string(core);
    if (owner & kClaimedCore) return name + " is left claimed";
    free_core |= owner == 0;
    if (owner && records_[thread_of_owner(owner)].state.load() >> kDetailShift != core)
      return name + " is owned by a thread that does not run there";
    if (owner && !world_->in_use(core)) return name + " has an owner and executes nothing";
  }
  if (!free_core) return "";
  for (ThreadIndex i = 0; i < world_->thread_slots() && i < records_.size(); ++i) {
    if (state(i) == State::ready)
      return "thread " + std::to_string(i) + " waits although a core is free";
  }
  return "";
}

}  // namespace roost::sim

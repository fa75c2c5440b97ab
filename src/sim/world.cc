// Cores and time: who executes what, how fast, and when it is done.
#include "sim/world.h"

#include <fmt/format.h>

#include <cassert>

namespace roost::sim {
namespace {

constexpr std::uint32_t kMhzStep = 100;
// A core halted for longer sleeps more deeply, or its hypervisor does.
constexpr Nanoseconds kSoon = 100'000;

}  // namespace

World::World(const Machine& machine, const Program& program, Governor governor,
             Scheduler& scheduler)
    : machine_(machine),
      program_(program),
      scheduler_(scheduler),
      frequencies_(machine, governor),
      info_(machine.core_info()),
      cores_(machine.n_cores()),
      kept_(kMaxProcesses),
      spinning_found_(program.barriers.size() + program.mutexes),
      mutexes_(program.mutexes),
      semaphores_(program.semaphores.size()),
      barriers_(program.barriers.size()),
      queues_(program.queues),
      device_free_at_(program.devices),
      nodes_(machine.nodes()),
      by_frequency_(machine.max_mhz() / kMhzStep + 1) {
  for (std::size_t i = 0; i < semaphores_.size(); ++i) semaphores_[i].units = program.semaphores[i];
  for (std::size_t i = 0; i < barriers_.size(); ++i) barriers_[i].members = program.barriers[i];
  for (ProcessIndex p = kMaxProcesses; p-- > program.processes;) free_processes_.push_back(p);
  starts_left_ = program.starts.size();
  arrivals_left_ = outstanding_ = program.arrivals.size();
  scheduler_.attach(*this);
  for (std::uint32_t i = 0; i < program.starts.size(); ++i)
    queue_.push(program.starts[i].at, kStart, i);
  if (!program.arrivals.empty()) queue_.push(program.arrivals[0].at, kArrival, 0);
}

World::Outcome World::run(Nanoseconds time_limit, std::uint64_t event_limit) {
  while (live_to_end_ || starts_left_ || arrivals_left_ || outstanding_) {
    if (queue_.empty()) return Outcome::stuck;
    if (counts_.events >= event_limit) return Outcome::event_limit;
    if (queue_.first().at > time_limit) return Outcome::time_limit;
    Event event = queue_.take();
    now_ = event.at;
    ++counts_.events;
    tell([&](Observer& o) { o.time(now_); });
    handle(event);
    tell([](Observer& o) { o.at_rest(); });
  }
  for (CoreIndex core = 0; core < n_cores(); ++core) {
    if (in_use(core)) settle(core);
  }
  return Outcome::finished;
}

void World::handle(const Event& event) {
  acting_ = kNoThread;
  charged_ = 0;
  switch (event.kind) {
    case kStepDone: {
      Core& core = cores_[event.who];
      if (core.stamp != event.stamp) return;
      auto index = static_cast<CoreIndex>(event.who);
      settle(index);
      Thread& thread = threads_[core.thread];
      if (thread.step_work) {
        assert(thread.work == 0);
        tell([&](Observer& o) { o.computed(core.thread, thread.step_work); });
        thread.step_work = 0;
        memory_changed(core.thread, false);
        thread.memory_permille = 0;
      }
      acting_ = core.thread;
      step(core.thread);
      acting_ = kNoThread;
      return;
    }
    case kStart: {
      const Program::Start& start_at = program_.starts[event.who];
      --starts_left_;
      start(start_at.script, start_at.process, kNoThread, false);
      return;
    }
    case kArrival: {
      const Program::Arrival& arrival = program_.arrivals[event.who];
      --arrivals_left_;
      if (event.who + 1 < program_.arrivals.size())
        queue_.push(program_.arrivals[event.who + 1].at, kArrival, event.who + 1);
      add_request(arrival.queue, now_);
      return;
    }
    case kKernelReturn:
      threads_[event.who].state = State::ready;
      tell([&](Observer& o) { o.ready(event.who); });
      scheduler_.leaves_kernel(event.who);
      return;
    case kFrequencies:
      update_frequencies();
      return;
    default:
      scheduler_.timer(event.kind - kFirstTimer, event.who, event.stamp);
  }
}

void World::dispatch(CoreIndex index, ThreadIndex thread_index, Nanoseconds latency) {
  Core& core = cores_[index];
  Thread& thread = threads_[thread_index];
  assert(core.thread == kNoThread && thread.core == kNoCore && thread.state == State::ready);
  poll(index, false);
  thread.overhead += latency;
  if (thread.phase == Phase::yielded_in_vain) {  // somebody may be there now
    thread.phase = Phase::spin_yield;
    thread.endless = false;
  }
  if (thread.last_core != index) {
    if (thread.last_core != kNoCore) {
      ++counts_.migrations;
      auto distance = static_cast<unsigned>(machine_.distance(thread.last_core, index));
      thread.overhead +=
          program_.scripts[thread.script].working_set_kib * machine_.costs.refill_per_kib[distance];
    }
    thread.last_core = index;
  }
  if (thread.home_node == 0xffff) thread.home_node = info_[index].node;
  if (core.last_thread != thread_index) ++counts_.switches;
  core.last_thread = thread_index;
  core.thread = thread_index;
  thread.core = index;
  thread.state = State::running;
  frequencies_.begins(index, now_);
  frequencies_.set_used(index, true, now_);
  start_frequencies();
  memory_changed(thread_index, true);
  arm(index);
  sibling_changed(index);
  tell([&](Observer& o) { o.dispatched(index, thread_index); });
}

void World::take_off(CoreIndex index) {
  Core& core = cores_[index];
  ThreadIndex thread_index = core.thread;
  Thread& thread = threads_[thread_index];
  settle(index);
  memory_changed(thread_index, false);
  ++core.stamp;
  core.thread = kNoThread;
  core.empty_since = now_;
  thread.core = kNoCore;
  // Whoever blocks has said so before; anybody else is preempted or yields.
  if (thread.state == State::running) thread.state = State::ready;
  frequencies_.set_used(index, false, now_);
  frequencies_.ends(index, now_);
  sibling_changed(index);
  tell([&](Observer& o) { o.taken_off(index, thread_index); });
  if (thread.state == State::ready) tell([&](Observer& o) { o.ready(thread_index); });
}

void World::poll(CoreIndex index, bool polling) {
  Core& core = cores_[index];
  if (core.polling == polling) return;
  core.polling = polling;
  if (polling) {
    frequencies_.begins(index, now_);
    start_frequencies();
  } else {
    core.empty_since = now_;
    frequencies_.ends(index, now_);
  }
}

Nanoseconds World::wake_latency(CoreIndex index) {
  const Core& core = cores_[index];
  const Costs& costs = machine_.costs;
  bool deep = core.empty_since == 0 || now_ - core.empty_since > kSoon;
  Nanoseconds mean = core.polling ? costs.wake_polling : deep ? costs.wake_halted : costs.wake_idle;
  return machine_.wake_spread_permille ? random_.around(mean, machine_.wake_spread_permille) : mean;
}

void World::kick(CoreIndex index) {
  ThreadIndex thread_index = cores_[index].thread;
  if (thread_index == kNoThread) return;
  Thread& thread = threads_[thread_index];
  if (thread.phase != Phase::yielded_in_vain || thread.released) return;
  settle(index);
  thread.phase = Phase::spin_yield;
  thread.endless = false;
  thread.overhead = machine_.costs.yield_alone;
  arm(index);
}

// Accounts for what the core has executed since the last look.
void World::settle(CoreIndex index) {
  Core& core = cores_[index];
  Nanoseconds elapsed = now_ - core.since;
  core.since = now_;
  if (elapsed == 0) return;
  Thread& thread = threads_[core.thread];
  Nanoseconds paid = elapsed < thread.overhead ? elapsed : thread.overhead;
  thread.overhead -= paid;
  if (thread.work && elapsed > paid) {
    std::uint64_t could = (elapsed - paid) * core.rate;
    std::uint64_t done = could < thread.work ? could : thread.work;
    thread.work -= done;
    tell([&](Observer& o) { o.executed(core.thread, done); });
  }
  std::uint64_t mhz = frequencies_.mhz(index);
  core.busy += elapsed;
  by_frequency_[mhz / kMhzStep] += elapsed;
  // Dynamic power grows with the third power of the frequency.
  std::uint64_t permille = mhz * 1000 / machine_.nominal_mhz;
  core.energy +=
      machine_.core_milliwatts * (permille * permille / 1000 * permille / 1000) / 1000 * elapsed;
}

// Makes the event at which the core's thread will have executed its present step.
void World::arm(CoreIndex index) {
  Core& core = cores_[index];
  const Thread& thread = threads_[core.thread];
  core.since = now_;
  core.rate = rate_of(index);
  ++core.stamp;
  if (thread.endless) return;
  Nanoseconds takes = thread.overhead + (thread.work + core.rate - 1) / core.rate;
  queue_.push(now_ + takes, kStepDone, index, core.stamp);
}

std::uint64_t World::rate_of(CoreIndex index) const {
  const Thread& thread = threads_[cores_[index].thread];
  std::uint64_t speed = 1000;
  CoreIndex sibling = machine_.sibling(index);
  if (sibling != kNoCore && in_use(sibling)) speed = machine_.smt_permille;
  if (thread.memory_permille) {
    std::uint64_t capacity = machine_.memory_threads * 1000;
    std::uint64_t demand = nodes_[thread.home_node].demand;
    std::uint64_t slow = demand > capacity ? demand * 1000 / capacity : 1000;
    if (info_[index].node != thread.home_node) slow = slow * machine_.remote_permille / 1000;
    std::uint64_t memory = thread.memory_permille;
    speed = speed * 1000 / (1000 - memory + memory * slow / 1000);
    if (speed == 0) speed = 1;
  }
  return frequencies_.mhz(index) * speed;
}

void World::rate_changed(CoreIndex index) {
  if (!in_use(index)) return;
  const Thread& thread = threads_[cores_[index].thread];
  if (thread.work == 0) return;
  if (rate_of(index) == cores_[index].rate) return;
  settle(index);
  arm(index);
}

void World::sibling_changed(CoreIndex index) {
  CoreIndex sibling = machine_.sibling(index);
  if (sibling != kNoCore) rate_changed(sibling);
}

// The memory of a node is a server that its users share evenly once it is saturated.
void World::memory_changed(ThreadIndex thread_index, bool begins) {
  const Thread& thread = threads_[thread_index];
  if (!thread.memory_permille) return;
  Node& node = nodes_[thread.home_node];
  std::uint64_t before = node.demand;
  if (begins) {
    node.demand += thread.memory_permille;
  } else {
    node.demand -= thread.memory_permille;
  }
  std::uint64_t capacity = machine_.memory_threads * 1000;
  if (before <= capacity && node.demand <= capacity) return;
  for (CoreIndex core = 0; core < n_cores(); ++core) {
    if (in_use(core) && cores_[core].thread != thread_index &&
        threads_[cores_[core].thread].home_node == thread.home_node) {
      rate_changed(core);
    }
  }
}

void World::start_frequencies() {
  if (frequencies_.fixed() || frequencies_run_) return;
  frequencies_run_ = true;
  update_frequencies();
}

void World::update_frequencies() {
  std::vector<CoreIndex> changed;
  frequencies_.update(now_, [&](CoreIndex core) {
    if (!in_use(core)) return;
    settle(core);
    changed.push_back(core);
  });
  for (CoreIndex core : changed) {
    if (threads_[cores_[core].thread].work) arm(core);
  }
  frequencies_run_ = frequencies_.executing() > 0;
  if (frequencies_run_) queue_.push(now_ + machine_.frequency_update, kFrequencies, 0);
}

std::string World::describe_stuck() const {
  std::string text = fmt::format("{} threads are left and nothing will happen any more:", live_);
  unsigned shown = 0;
  for (ThreadIndex i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    if (thread.state == State::unused) continue;
    if (++shown > 8) return text + " ...";
    text +=
        fmt::format(" thread {} of '{}' at step {} {};", i, program_.scripts[thread.script].name,
                    thread.pc, thread.state == State::ready ? "waits for a core" : "waits");
  }
  return text;
}

}  // namespace roost::sim

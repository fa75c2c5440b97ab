// Threads: what each op of a script does. Mutexes, semaphores and barriers: world_objects.cc.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/toml_reader.h"
#include "sim/world.h"

namespace roost::sim {
namespace {

// Costs below this are paid together with the thread's next step.
constexpr Nanoseconds kSmallCost = 1000;
constexpr unsigned kStepsAtOnce = 10'000'000;
constexpr std::uint32_t kStacksKept = 5;  // by glibc: 40 MiB of stacks of 8
constexpr std::uint64_t kWorkPerCycle = 1'000'000;

}  // namespace

void World::step(ThreadIndex index) {
  Thread& thread = threads_[index];
  for (unsigned steps = 0; thread.core != kNoCore; ++steps) {
    if (steps > kStepsAtOnce) {
      throw InputError(fmt::format("script '{}' goes round for ever without taking time",
                                   program_.scripts[thread.script].name));
    }
    thread.overhead += charged_;
    charged_ = 0;
    if (thread.overhead >= kSmallCost) return arm(thread.core);
    bool goes_on = true;
    switch (thread.phase) {
      case Phase::next:
        goes_on = do_op(thread, index);
        break;
      case Phase::at_controller:
        goes_on = access(thread, program_.scripts[thread.script].ops[thread.pc]);
        break;
      case Phase::retry:
      case Phase::watching:
        goes_on = lock(thread, index, program_.scripts[thread.script].ops[thread.pc].object);
        break;
      case Phase::released:
        thread.phase = Phase::next;
        break;
      case Phase::spin:
      case Phase::spin_yield:
      case Phase::yielded_in_vain:
        goes_on = spin_on(thread, index);
        break;
      case Phase::waking:
        wake_some(thread, index);
        break;
      case Phase::forking:
        fork_some(thread, index);
        break;
      case Phase::ended:
        goes_on = end(thread, index);
    }
    if (!goes_on) break;
  }
  charged_ = 0;
}

bool World::do_op(Thread& thread, ThreadIndex index) {
  const Script& script = program_.scripts[thread.script];
  if (thread.pc == script.ops.size()) {
    thread.phase = Phase::ended;
    return thread.children == 0 || join(thread, index);
  }
  const Op& op = script.ops[thread.pc];
  switch (op.kind) {
    case OpKind::compute:
      ++thread.pc;
      if (op.amount == 0) return true;
      thread.work = thread.step_work = op.amount * kWorkPerCycle;
      thread.memory_permille = op.memory_permille;
      memory_changed(index, true);
      arm(thread.core);
      return false;
    case OpKind::access:
      return access(thread, op);
    case OpKind::lock:
      return lock(thread, index, op.object);
    case OpKind::spin_lock:
    case OpKind::yield_lock:
      return spin_lock(thread, index, op);
    case OpKind::unlock:
      ++thread.pc;
      unlock(thread, op.object);
      return true;
    case OpKind::wait:
      ++thread.pc;
      return wait(thread, index, op.object);
    case OpKind::signal:
      ++thread.pc;
      signal(thread, op);
      return true;
    case OpKind::barrier:
    case OpKind::spin_barrier:
    case OpKind::yield_barrier:
      ++thread.pc;
      return arrive(thread, index, op);
    case OpKind::fork:
    case OpKind::fork_process:
      thread.remaining = op.amount;
      if (op.amount == 0) ++thread.pc;
      if (op.amount) thread.phase = Phase::forking;
      return true;
    case OpKind::join:
      ++thread.pc;
      if (thread.children) return join(thread, index);
      joined(thread);
      return true;
    case OpKind::sleep:
      ++thread.pc;
      return kernel(thread, index, now_ + op.amount);
    case OpKind::io: {
      ++thread.pc;
      Nanoseconds& free_at = device_free_at_[op.object];
      free_at = std::max(free_at, now_) + op.amount;
      return kernel(thread, index, free_at);
    }
    case OpKind::yield:
      ++thread.pc;
      if (!scheduler_.yields(index, false)) thread.overhead += machine_.costs.yield_alone;
      return true;
    case OpKind::accept:
      ++thread.pc;
      return accept(thread, index, op.object);
    case OpKind::reply:
      ++thread.pc;
      reply(thread);
      return true;
    case OpKind::count:
      ++thread.pc;
      counts_.done += op.amount;
      return true;
    default:
      jump(thread, op);
      return true;
  }
}

void World::jump(Thread& thread, const Op& op) {
  ++thread.pc;
  if (op.kind == OpKind::repeat) {
    thread.rounds[thread.depth++] = op.amount ? op.amount : ~0ull;
    return;
  }
  std::uint64_t& rounds = thread.rounds[thread.depth - 1];
  if (rounds != ~0ull) --rounds;
  if (rounds) {
    thread.pc = op.object;
  } else {
    --thread.depth;
  }
}

// Under Roost a call made by an instruction outside libc is caught by a signal handler.
void World::trap(Thread& thread) {
  if (program_.scripts[thread.script].traps && scheduler_.traps())
    thread.overhead += machine_.costs.trap;
}

bool World::block(Thread& thread, ThreadIndex index) {
  trap(thread);
  thread.state = State::blocked;
  scheduler_.blocks(index);
  assert(thread.core == kNoCore);
  if (thread.state == State::blocked) tell([&](Observer& o) { o.waits(index, false); });
  return false;
}

void World::wake_now(ThreadIndex index, ThreadIndex waker) {
  Thread& thread = threads_[index];
  assert(thread.state == State::blocked);
  thread.state = State::ready;
  tell([&](Observer& o) { o.ready(index); });
  scheduler_.wakes(index, waker);
}

void World::wake_some(Thread& thread, ThreadIndex index) {
  ThreadIndex woken = thread.to_wake.back();
  thread.to_wake.pop_back();
  if (thread.to_wake.empty()) thread.phase = Phase::next;
  trap(thread);
  wake_now(woken, index);
}

// A request to the memory of another node passes the link to it first, which takes what
// `remote_permille` says it takes longer than one to the own. The core is blocked meanwhile.
bool World::access(Thread& thread, const Op& op) {
  unsigned own = info_[thread.core].node;
  unsigned target = op.object ? (op.object - 1) % machine_.nodes() : thread.home_node;
  Node& node = nodes_[target];
  if (target != own && thread.phase != Phase::at_controller) {
    Nanoseconds link = op.amount * (machine_.remote_permille - 1000) / 1000;
    node.link_free_at = std::max(node.link_free_at, now_) + link;
    thread.overhead += node.link_free_at - now_;
    thread.phase = Phase::at_controller;
  } else {
    node.controller_free_at = std::max(node.controller_free_at, now_) + op.amount;
    node.controller_busy += op.amount;
    thread.overhead += node.controller_free_at - now_;
    thread.phase = Phase::next;
    ++thread.pc;
  }
  arm(thread.core);
  return false;
}

bool World::kernel(Thread& thread, ThreadIndex index, Nanoseconds until) {
  thread.state = State::kernel;
  thread.phase = Phase::released;
  scheduler_.enters_kernel(index);
  tell([&](Observer& o) { o.waits(index, true); });
  queue_.push(until, kKernelReturn, index);
  return false;
}

bool World::accept(Thread& thread, ThreadIndex index, std::uint32_t number) {
  Queue& queue = queues_[number];
  if (!queue.requests.empty()) {
    thread.request = queue.requests.front();
    queue.requests.pop_front();
    return true;
  }
  queue.waiters.push_back(index);
  tell([&](Observer& o) { o.queued({ObjectKind::queue, number}, index); });
  thread.phase = Phase::released;
  return block(thread, index);
}

void World::add_request(std::uint32_t number, Nanoseconds at) {
  Queue& queue = queues_[number];
  if (queue.waiters.empty()) {
    queue.requests.push_back(at);
    return;
  }
  ThreadIndex first = queue.waiters.front();
  queue.waiters.pop_front();
  tell([&](Observer& o) { o.served({ObjectKind::queue, number}, first); });
  threads_[first].request = at;
  wake_now(first, kNoThread);
}

void World::reply(Thread& thread) {
  if (outstanding_) --outstanding_;
  ++counts_.requests;
  last_end_ = now_;
  tell([&](Observer& o) { o.replied(now_ - thread.request); });
}

void World::fork_some(Thread& thread, ThreadIndex index) {
  const Op& op = program_.scripts[thread.script].ops[thread.pc];
  bool process = op.kind == OpKind::fork_process;
  if (!thread.paid) {
    const Costs& costs = machine_.costs;
    bool kept = !process && kept_[thread.process] > 0;
    if (kept) --kept_[thread.process];
    thread.overhead += process                      ? costs.fork_process
                       : !kept                      ? costs.create + costs.create_stack
                       : scheduler_.keeps_threads() ? costs.reuse
                                                    : costs.create;
    thread.paid = true;
    return;
  }
  thread.paid = false;
  if (--thread.remaining == 0) {
    ++thread.pc;
    thread.phase = Phase::next;
  }
  ProcessIndex owner = thread.process;
  if (process) {
    if (free_processes_.empty())
      throw InputError(fmt::format("more than {} processes at once", kMaxProcesses));
    owner = free_processes_.back();
    free_processes_.pop_back();
  }
  ++thread.children;
  start(op.object, owner, index, process);
}

ThreadIndex World::start(std::uint32_t script, ProcessIndex process, ThreadIndex parent,
                         bool own_process) {
  ThreadIndex index;
  if (free_threads_.empty()) {
    index = static_cast<ThreadIndex>(threads_.size());
    threads_.emplace_back();
  } else {
    index = free_threads_.back();
    free_threads_.pop_back();
    threads_[index] = {};
  }
  Thread& thread = threads_[index];
  thread.script = script;
  thread.process = process;
  thread.parent = parent;
  thread.own_process = own_process;
  thread.state = State::ready;
  ++live_;
  ++counts_.threads;
  live_to_end_ += !program_.scripts[script].daemon;
  tell([&](Observer& o) { o.started(index, process); });
  tell([&](Observer& o) { o.ready(index); });
  scheduler_.starts(index, parent);
  return index;
}

bool World::join(Thread& thread, ThreadIndex index) {
  thread.joins = true;
  if (thread.phase != Phase::ended) thread.phase = Phase::released;
  return block(thread, index);
}

// libc keeps a few of the stacks of threads that were joined.
void World::joined(Thread& parent) {
  std::uint32_t& kept = kept_[parent.process];
  if (!scheduler_.keeps_threads()) kept = std::min(kept + parent.unjoined, kStacksKept);
  parent.unjoined = 0;
}

// A thread that ends has waited for all it has started, so its parent still exists.
bool World::end(Thread& thread, ThreadIndex index) {
  Nanoseconds cost = scheduler_.keeps_threads() ? machine_.costs.end_kept : machine_.costs.end;
  if (!thread.paid && thread.parent != kNoThread && cost) {
    thread.paid = true;
    thread.overhead += cost;
    arm(thread.core);  // before it wakes anybody
    return false;
  }
  if (thread.parent != kNoThread) {
    ThreadIndex parent_index = thread.parent;
    thread.parent = kNoThread;
    Thread& parent = threads_[parent_index];
    ++parent.unjoined;
    if (--parent.children == 0 && parent.joins) {
      parent.joins = false;
      joined(parent);
      trap(thread);
      wake_now(parent_index, index);
      return true;  // pays for that first
    }
  }
  if (!program_.scripts[thread.script].daemon) {
    --live_to_end_;
    last_end_ = now_;
  }
  thread.state = State::unused;
  scheduler_.ends(index);
  assert(thread.core == kNoCore);
  tell([&](Observer& o) { o.ended(index); });
  --live_;
  if (thread.own_process) {
    kept_[thread.process] = 0;
    free_processes_.push_back(thread.process);
  } else if (scheduler_.keeps_threads()) {
    ++kept_[thread.process];
  }
  free_threads_.push_back(index);
  return false;
}

}  // namespace roost::sim

// Objects on which threads wait: mutexes, semaphores and barriers.
#include <algorithm>

#include "sim/world.h"

namespace roost::sim {

bool World::lock(Thread& thread, ThreadIndex index, std::uint32_t number) {
  Mutex& mutex = mutexes_[number];
  ObjectId object{ObjectKind::mutex, number};
  thread.overhead += machine_.costs.lock;
  auto own = std::find_if(mutex.waiters.begin(), mutex.waiters.end(),
                          [&](const Waiting& w) { return w.thread == index; });
  if (mutex.owner == kNoThread) {
    std::erase(mutex.watching, index);
    mutex.owner = index;
    if (own != mutex.waiters.end()) {
      mutex.waiters.erase(own);
      tell([&](Observer& o) { o.served(object, index); });
    }
    thread.phase = Phase::next;
    ++thread.pc;
    return true;
  }
  if (watch_mutex(thread, index, mutex)) return false;
  if (own != mutex.waiters.end()) {
    own->woken = false;  // keeps its place
  } else {
    mutex.waiters.push_back({index, false});
    tell([&](Observer& o) { o.queued(object, index); });
  }
  thread.phase = Phase::retry;
  return block(thread, index);
}

// A thread that has just come to a held mutex does not block at once, since its holder may be done
// before another thread would run here. False if it has watched for long enough, or never does.
bool World::watch_mutex(Thread& thread, ThreadIndex index, Mutex& mutex) {
  if (thread.phase == Phase::watching) {
    std::erase(mutex.watching, index);
    return false;
  }
  if (thread.phase == Phase::retry || n_cores() < 2) return false;
  Nanoseconds patience = scheduler_.watches_mutex_for() * machine_.costs.pause;
  if (patience == 0) return false;
  thread.overhead += patience;
  thread.phase = Phase::watching;
  mutex.watching.push_back(index);
  arm(thread.core);
  return true;
}

// Who watches the mutex sees it free. Wakes the oldest waiter, who tries again, unless it is on its
// way already.
void World::unlock(Thread& thread, std::uint32_t number) {
  Mutex& mutex = mutexes_[number];
  mutex.owner = kNoThread;
  for (ThreadIndex watching : mutex.watching) {
    Thread& other = threads_[watching];
    if (other.core == kNoCore) continue;
    settle(other.core);
    other.overhead = std::min(other.overhead, machine_.costs.cache_line);
    arm(other.core);
  }
  thread.overhead += machine_.costs.lock;
  if (mutex.waiters.empty() || mutex.waiters.front().woken) return;
  mutex.waiters.front().woken = true;
  thread.to_wake.push_back(mutex.waiters.front().thread);
  thread.phase = Phase::waking;
}

bool World::wait(Thread& thread, ThreadIndex index, std::uint32_t number) {
  Semaphore& semaphore = semaphores_[number];
  if (semaphore.units) {
    --semaphore.units;
    thread.overhead += machine_.costs.lock;
    return true;
  }
  semaphore.waiters.push_back(index);
  tell([&](Observer& o) { o.queued({ObjectKind::semaphore, number}, index); });
  thread.phase = Phase::released;
  return block(thread, index);
}

void World::signal(Thread& thread, const Op& op) {
  Semaphore& semaphore = semaphores_[op.object];
  std::uint64_t units = op.amount;
  for (; units && !semaphore.waiters.empty(); --units) {
    ThreadIndex first = semaphore.waiters.front();
    semaphore.waiters.pop_front();
    tell([&](Observer& o) { o.served({ObjectKind::semaphore, op.object}, first); });
    thread.to_wake.push_back(first);
  }
  std::reverse(thread.to_wake.begin(), thread.to_wake.end());
  semaphore.units += units;
  thread.overhead += machine_.costs.lock;
  if (!thread.to_wake.empty()) thread.phase = Phase::waking;
}

bool World::arrive(Thread& thread, ThreadIndex index, const Op& op) {
  Barrier& barrier = barriers_[op.object];
  thread.overhead += machine_.costs.lock;
  if (++barrier.arrived == barrier.members) {
    release_barrier(thread, barrier, op.object);
    return true;
  }
  tell([&](Observer& o) { o.queued({ObjectKind::barrier, op.object}, index); });
  if (op.kind == OpKind::barrier) {
    barrier.blocked.push_back(index);
    thread.phase = Phase::released;
    return block(thread, index);
  }
  barrier.spinning.push_back(index);
  thread.released = false;
  thread.waits_on = op.object;
  thread.phase = op.kind == OpKind::spin_barrier ? Phase::spin : Phase::spin_yield;
  return true;
}

void World::release_barrier(Thread& last, Barrier& barrier, std::uint32_t number) {
  barrier.arrived = 0;
  ObjectId object{ObjectKind::barrier, number};
  for (ThreadIndex waiter : barrier.blocked) tell([&](Observer& o) { o.served(object, waiter); });
  last.to_wake.assign(barrier.blocked.rbegin(), barrier.blocked.rend());
  if (!last.to_wake.empty()) last.phase = Phase::waking;
  barrier.blocked.clear();
  for (ThreadIndex waiter : barrier.spinning) {
    tell([&](Observer& o) { o.served(object, waiter); });
    Thread& thread = threads_[waiter];
    if (thread.core != kNoCore) settle(thread.core);
    thread.released = true;
    thread.endless = false;
    thread.overhead = machine_.costs.cache_line;
    if (thread.core != kNoCore) {
      arm(thread.core);
    } else {
      scheduler_.released(waiter);
    }
  }
  barrier.spinning.clear();
}

bool World::spin_on(Thread& thread, ThreadIndex index) {
  if (thread.released) {
    thread.phase = Phase::next;
    return true;
  }
  if (thread.phase == Phase::spin) {
    Nanoseconds found_after = scheduler_.finds_spinning_after();
    if (found_after == 0) {
      thread.endless = true;
      arm(thread.core);
      return false;
    }
    thread.phase = Phase::spin_yield;
    if (!spinning_found_[thread.waits_on]) {
      thread.overhead = found_after;
      spinning_found_[thread.waits_on] = true;
    }
    return true;
  }
  thread.phase = Phase::spin_yield;
  if (scheduler_.yields(index, true)) return false;
  thread.phase = Phase::yielded_in_vain;
  thread.overhead = scheduler_.yields_again_after();
  thread.endless = thread.overhead == 0;
  arm(thread.core);
  return false;
}

}  // namespace roost::sim

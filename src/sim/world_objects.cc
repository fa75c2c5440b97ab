// Objects on which threads wait: mutexes, semaphores and barriers.
#include <algorithm>

#include "sim/world.h"

namespace roost::sim {

// The mutex is free. Its line comes from the core where it was taken last; who has watched it has
// it already.
bool World::take(Thread& thread, ThreadIndex index, Mutex& mutex) {
  bool far = mutex.last_core != kNoCore && mutex.last_core != thread.core;
  if (far && thread.phase != Phase::watching) thread.overhead += machine_.costs.cache_line;
  mutex.owner = index;
  mutex.last_core = thread.core;
  thread.phase = Phase::next;
  ++thread.pc;
  return true;
}

bool World::lock(Thread& thread, ThreadIndex index, std::uint32_t number) {
  thread.overhead += machine_.costs.lock;
  return scheduler_.has_parking_lot() ? lock_in_lot(thread, index, number)
                                      : lock_futex(thread, index, number);
}

void World::unlock(Thread& thread, std::uint32_t number) {
  thread.overhead += machine_.costs.lock;
  Mutex& mutex = mutexes_[number];
  mutex.owner = kNoThread;
  if (!mutex.spinning.empty()) {
    pass_on(mutex);
  } else if (scheduler_.has_parking_lot()) {
    unlock_in_lot(thread, number);
  } else {
    unlock_futex(thread, number);
  }
}

// glibc's mutex. Who finds it held says so in its word and asks the kernel to let it sleep, which
// looks at the word once more. It has lost its place when it is woken, and takes the mutex as one
// for which others may wait.
bool World::lock_futex(Thread& thread, ThreadIndex index, std::uint32_t number) {
  Mutex& mutex = mutexes_[number];
  if (mutex.owner == kNoThread) {
    if (thread.phase == Phase::watching) thread.overhead += machine_.costs.futex_look / 2;
    mutex.contended = thread.phase != Phase::next;
    return take(thread, index, mutex);
  }
  mutex.contended = true;
  if (thread.phase != Phase::watching && machine_.costs.futex_look) {
    thread.overhead += machine_.costs.futex_look;
    thread.phase = Phase::watching;
    arm(thread.core);
    return false;
  }
  mutex.waiters.push_back({index});
  tell([&](Observer& o) { o.queued({ObjectKind::mutex, number}, index); });
  thread.phase = Phase::retry;
  return block(thread, index);
}

// The kernel wakes the oldest waiter. It is asked in vain if all are awake again.
void World::unlock_futex(Thread& thread, std::uint32_t number) {
  Mutex& mutex = mutexes_[number];
  if (!mutex.contended) return;
  mutex.contended = false;
  if (mutex.waiters.empty()) {
    thread.overhead += machine_.costs.futex_call;
    return;
  }
  ThreadIndex first = mutex.waiters.front().thread;
  mutex.waiters.pop_front();
  tell([&](Observer& o) { o.served({ObjectKind::mutex, number}, first); });
  thread.to_wake.push_back(first);
  thread.phase = Phase::waking;
}

// Roost's (preload/mutex.cc). A waiter keeps its place until it has the mutex. A thread that has
// just come to a held mutex does not block at once, since its holder may be done before another
// thread would run here; nor does it try at all if it has kept the first waiter from it too often
// and that one is on its way.
bool World::lock_in_lot(Thread& thread, ThreadIndex index, std::uint32_t number) {
  Mutex& mutex = mutexes_[number];
  ObjectId object{ObjectKind::mutex, number};
  auto own = std::find_if(mutex.waiters.begin(), mutex.waiters.end(),
                          [&](const Waiting& w) { return w.thread == index; });
  bool gives_way = thread.phase == Phase::next && thread.gives_way == number;
  if (thread.phase == Phase::next) thread.gives_way = kNoMutex;
  bool behind = gives_way && !mutex.waiters.empty() && mutex.waiters.front().woken;
  if (mutex.owner == kNoThread && !behind) {
    std::erase(mutex.watching, index);
    if (own != mutex.waiters.end()) {
      mutex.waiters.erase(own);
      tell([&](Observer& o) { o.served(object, index); });
    }
    return take(thread, index, mutex);
  }
  constexpr unsigned kSpins = 40;
  if (!gives_way && watch_mutex(thread, index, mutex, kSpins * machine_.costs.pause)) return false;
  if (own != mutex.waiters.end()) {
    own->woken = false;
    ++own->failures;
  } else {
    mutex.waiters.push_back({index});
    tell([&](Observer& o) { o.queued(object, index); });
  }
  thread.phase = Phase::retry;
  return block(thread, index);
}

// False if it has watched for long enough, or never does.
bool World::watch_mutex(Thread& thread, ThreadIndex index, Mutex& mutex, Nanoseconds patience) {
  if (thread.phase == Phase::watching) {
    std::erase(mutex.watching, index);
    return false;
  }
  if (thread.phase == Phase::retry || n_cores() < 2 || patience == 0) return false;
  thread.overhead += patience;
  thread.phase = Phase::watching;
  mutex.watching.push_back(index);
  arm(thread.core);
  return true;
}

// Who watches the mutex sees it free. Wakes the oldest waiter, who tries again, unless it is on its
// way already.
void World::unlock_in_lot(Thread& thread, std::uint32_t number) {
  Mutex& mutex = mutexes_[number];
  for (ThreadIndex watching : mutex.watching) {
    Thread& other = threads_[watching];
    if (other.core == kNoCore) continue;
    settle(other.core);
    other.overhead = std::min(other.overhead, machine_.costs.cache_line);
    arm(other.core);
  }
  if (mutex.waiters.empty()) return;
  Waiting& first = mutex.waiters.front();
  constexpr unsigned kPatience = 4;
  if (first.failures >= kPatience) thread.gives_way = number;
  if (first.woken) return;
  first.woken = true;
  thread.to_wake.push_back(first.thread);
  thread.phase = Phase::waking;
}

bool World::spin_lock(Thread& thread, ThreadIndex index, const Op& op) {
  Mutex& mutex = mutexes_[op.object];
  thread.overhead += machine_.costs.lock;
  if (mutex.owner == kNoThread) return take(thread, index, mutex);
  mutex.spinning.push_back(index);
  thread.released = false;
  thread.waits_on = static_cast<std::uint32_t>(barriers_.size()) + op.object;
  thread.phase = op.kind == OpKind::spin_lock ? Phase::spin : Phase::spin_yield;
  ++thread.pc;
  return true;
}

// The first that runs just now sees that it is free; else the first of all, when it runs again.
void World::pass_on(Mutex& mutex) {
  auto runs = [&](ThreadIndex waiter) { return threads_[waiter].core != kNoCore; };
  auto next = std::find_if(mutex.spinning.begin(), mutex.spinning.end(), runs);
  if (next == mutex.spinning.end()) next = mutex.spinning.begin();
  ThreadIndex waiter = *next;
  mutex.spinning.erase(next);
  mutex.owner = waiter;
  mutex.last_core = threads_[waiter].last_core;
  end_spinning(waiter);
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
    end_spinning(waiter);
  }
  barrier.spinning.clear();
}

// What it has waited for by spinning has come.
void World::end_spinning(ThreadIndex index) {
  Thread& thread = threads_[index];
  if (thread.core != kNoCore) settle(thread.core);
  thread.released = true;
  thread.endless = false;
  thread.overhead = machine_.costs.cache_line;
  if (thread.core != kNoCore) {
    arm(thread.core);
  } else {
    scheduler_.released(index);
  }
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

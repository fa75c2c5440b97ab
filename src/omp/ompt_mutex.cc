// Events of mutual exclusion: locks, critical, atomic and ordered regions.
#include "omp/ompt_callbacks.h"

namespace roost::omp::ompt {
namespace {

State waiting(Mutex kind) {
  switch (kind) {
    case Mutex::critical:
      return State::wait_critical;
    case Mutex::atomic:
      return State::wait_atomic;
    case Mutex::ordered:
      return State::wait_ordered;
    case Mutex::lock:
    case Mutex::test_lock:
    case Mutex::nest_lock:
    case Mutex::test_nest_lock:
      break;
  }
  return State::wait_lock;
}

void tell_mutex(Event event, Mutex kind, const void* lock) {
  if (auto tell = callback<MutexCallback>(event)) tell(kind, wait_id_of(lock), self().tool.code);
}

void tell_nested(Endpoint endpoint, const void* lock) {
  if (auto tell = callback<NestLockCallback>(Event::nest_lock))
    tell(endpoint, wait_id_of(lock), self().tool.code);
}

void tell_acquire(Event event, Mutex kind, unsigned hint, const void* lock) {
  if (auto tell = callback<MutexAcquire>(event))
    tell(kind, hint, kQueuingLock, wait_id_of(lock), self().tool.code);
}

}  // namespace

void Acquire::begin(Mutex kind, const void* lock) {
  member_ = &self();
  kind_ = kind;
  lock_ = lock;
  tell_acquire(Event::mutex_acquire, kind, 0, lock);
  before_ = member_->tool.state;
  member_->tool.state = waiting(kind);
  member_->tool.wait_id = wait_id_of(lock);
}

void Acquire::end() {
  member_->tool.state = before_;
  member_->tool.wait_id = 0;
  if (outcome_ == Outcome::acquired) tell_mutex(Event::mutex_acquired, kind_, lock_);
  if (outcome_ == Outcome::nested) tell_nested(Endpoint::begin, lock_);
}

namespace slow {

void released(Mutex kind, const void* lock) { tell_mutex(Event::mutex_released, kind, lock); }
void nest_lock_left(const void* lock) { tell_nested(Endpoint::end, lock); }
void lock_begins(Mutex kind, const void* lock, unsigned hint) {
  tell_acquire(Event::lock_init, kind, hint, lock);
}
void lock_ends(Mutex kind, const void* lock) { tell_mutex(Event::lock_destroy, kind, lock); }

}  // namespace slow
}  // namespace roost::omp::ompt

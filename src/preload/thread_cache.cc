// Two lists, the longest waiting last. Who ends leaves its list itself: whether it was taken in
// the meantime is decided under the lock.
#include "preload/thread_cache.h"

#include "os/sys.h"
#include "sched/runtime.h"

namespace roost {
namespace {

constexpr unsigned kMost = 2048;
constexpr Nanoseconds kRound = 500'000'000;
constexpr unsigned kAtATime = 64;  // told to end by one look

struct List {
  Thread* first;
  Thread* last;
};
List finished, joined;
unsigned n_cached;
std::uint32_t round;  // of trimming; a thread keeps the one it began to wait in
Nanoseconds round_began;

List& list_of(const Thread* t) { return t->cached == Cached::joined ? joined : finished; }

void link(Thread* t, Cached as) {
  t->cached = as;
  t->cached_in = round;
  List& list = list_of(t);
  t->previous_cached = nullptr;
  t->next_cached = list.first;
  (list.first ? list.first->previous_cached : list.last) = t;
  list.first = t;
  ++n_cached;
}

void unlink(Thread* t) {
  List& list = list_of(t);
  (t->previous_cached ? t->previous_cached->next_cached : list.first) = t->next_cached;
  (t->next_cached ? t->next_cached->previous_cached : list.last) = t->previous_cached;
  t->cached = Cached::no;
  --n_cached;
}

// Marks those at the end of the list that have waited for `rounds`, and notes whom to wake.
unsigned mark(const List& list, std::uint32_t rounds, ThreadIndex* told, unsigned n) {
  for (Thread* t = list.last; t && n < kAtATime; t = t->previous_cached) {
    if (round - t->cached_in < rounds) break;
    if (t->index == kNoThread || t->ends.exchange(true, std::memory_order_relaxed)) continue;
    told[n++] = t->index;
  }
  return n;
}

void tell_to_end(std::uint32_t rounds) {
  ThreadIndex told[kAtATime];
  unsigned n = mark(joined, rounds, told, 0);
  n = mark(finished, rounds, told, n);
  threads_lock.release();
  for (unsigned i = 0; i < n; ++i) unpark(told[i]);
}

}  // namespace

Lock threads_lock;

bool cache_has_room() { return n_cached < kMost; }

void cache_finished(Thread* t) { link(t, Cached::finished); }

void cache_joined(Thread* t) {
  unlink(t);
  link(t, Cached::joined);
}

Thread* cache_take(std::size_t stack_size, std::size_t guard_size) {
  LockGuard guard(threads_lock);
  for (Thread* t = joined.first; t; t = t->next_cached) {
    if (t->stack_size != stack_size || t->guard_size != guard_size) continue;
    unlink(t);
    t->ends.store(false, std::memory_order_relaxed);
    return t;
  }
  return nullptr;
}

bool cache_leave(Thread* t, bool& was_joined) {
  LockGuard guard(threads_lock);
  t->ends.store(false, std::memory_order_relaxed);
  if (t->cached == Cached::no) return false;
  was_joined = t->cached == Cached::joined;
  unlink(t);
  if (!was_joined) t->phase.store(Phase::ending, std::memory_order_seq_cst);
  return true;
}

void cache_trim() {
  Nanoseconds now = os::now();
  if (now - round_began < kRound || !threads_lock.try_acquire()) return;
  round_began = now;
  ++round;
  tell_to_end(2);
}

unsigned cache_end_all() {
  threads_lock.acquire();
  unsigned left = n_cached;
  tell_to_end(0);
  return left;
}

void cache_after_fork() {
  threads_lock.reset();
  finished = joined = {};
  n_cached = 0;
}

}  // namespace roost

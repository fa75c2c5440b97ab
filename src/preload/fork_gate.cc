// Keeps forks and the sections that they must not cut apart.
#include "preload/fork_gate.h"

#include <atomic>

#include "base/world.h"
#include "os/sys.h"

namespace roost {
namespace {

std::atomic<std::uint32_t> inside{0}, forks{0};

// Forks that have led to this process: each child counts from nothing.
std::atomic<std::uint32_t> generation{0};

// Where a handler may have forked since: in the child nobody is inside, whatever part of a count
// the fork came in.
void end_count(std::uint32_t begun_in) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (generation.load(std::memory_order_relaxed) == begun_in) return;
  self.unforked = 0;
  inside.store(0, std::memory_order_relaxed);
}
std::uint32_t begin_count() {
  std::uint32_t now = generation.load(std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return now;
}

// The thread's own count is never behind: a handler that forks here must not wait for its thread,
// which would not get on if signals came faster than that wait ends.
void count_in() {
  std::uint32_t begun_in = begin_count();
  ++self.unforked;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  inside.fetch_add(1, std::memory_order_seq_cst);
  end_count(begun_in);
}
void count_out() {
  std::uint32_t begun_in = begin_count();
  if (!self.unforked) return;  // in a child, forked by a handler that had interrupted the section
  inside.fetch_sub(1, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --self.unforked;
  end_count(begun_in);
}

bool others_are_inside() { return inside.load(std::memory_order_seq_cst) > self.unforked; }

}  // namespace

Unforked::Unforked() {
  RealWorld::enter_critical();
  Nanoseconds give_up = 0;
  for (;;) {
    count_in();
    if (forks.load(std::memory_order_seq_cst) == 0) return;
    Nanoseconds now = os::now();
    if (give_up == 0) give_up = now + kLongestWait;
    if (now >= give_up) {
      // Perhaps a handler has left a fork by a jump: nobody else is to wait for that one.
      forks.store(0, std::memory_order_relaxed);
      return;
    }
    count_out();
    os::yield();
  }
}

Unforked::Unforked(Unless) {
  RealWorld::enter_critical();
  count_in();
  if (forks.load(std::memory_order_seq_cst) == 0) return;
  count_out();
  entered_ = false;
}

Unforked::~Unforked() {
  if (entered_) count_out();
  RealWorld::leave_critical();
}

int walk_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) {
  Unforked section;
  return dl_iterate_phdr(visit, data);
}

void fork_gate_close() {
  forks.fetch_add(1, std::memory_order_seq_cst);
  if (!others_are_inside()) return;
  Nanoseconds give_up = os::now() + Unforked::kLongestWait;
  while (others_are_inside() && os::now() < give_up) os::yield();
}

void fork_gate_open() {
  std::uint32_t now = forks.load(std::memory_order_relaxed);
  while (now && !forks.compare_exchange_weak(now, now - 1, std::memory_order_release,
                                             std::memory_order_relaxed)) {
  }
}

void fork_gate_after_fork() {
  inside.store(0, std::memory_order_relaxed);
  self.unforked = 0;
  generation.fetch_add(1, std::memory_order_relaxed);
  forks.store(0, std::memory_order_relaxed);
}

}  // namespace roost

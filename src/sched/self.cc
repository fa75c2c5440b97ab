// The calling thread's state, and wake-ups that had to wait until Roost was left.
#include "sched/self.h"

#include <signal.h>

#include "os/sys.h"

namespace roost {
namespace {

constexpr std::uint32_t kDeferred = sizeof self.deferred / sizeof self.deferred[0];

// Wake-ups handed on. A place is written by who has turned it from free to taken.
enum class Place : std::uint8_t { free, taken, full };
struct HandedOn {
  std::atomic<Place> place{Place::free};
  DeferredWake wake = {};
};
constexpr unsigned kHandedOn = 64;
constinit HandedOn handed_on[kHandedOn] = {};
constinit std::atomic<bool> any_handed_on{false};

bool hand_on(const DeferredWake& wake) {
  for (HandedOn& slot : handed_on) {
    Place expected = Place::free;
    if (!slot.place.compare_exchange_strong(expected, Place::taken, std::memory_order_acquire,
                                            std::memory_order_relaxed))
      continue;
    slot.wake = wake;
    slot.place.store(Place::full, std::memory_order_release);
    any_handed_on.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace

std::atomic<bool> handlers_stay_out{false};

void NoSignals::block() { os::change_signal_mask(SIG_SETMASK, os::kAllButTraps, &before_); }
void NoSignals::restore() { os::change_signal_mask(SIG_SETMASK, before_); }

constinit thread_local Self self;
constinit thread_local std::uint32_t roost_seen_epoch = 0;
std::atomic<std::uint32_t> scheduling_epoch{0};
void (*at_new_epoch)() = [] {};
std::atomic<std::uint32_t> waiters_inside_libc{0};

void RealWorld::enter_critical() {
  bool blocks = handlers_stay_out.load(std::memory_order_relaxed) && self.depth == 0;
  if (__builtin_expect(blocks, 0) && !self.blocks_signals) {
    os::change_signal_mask(SIG_SETMASK, os::kAllButTraps, &self.blocked_before);
    self.blocks_signals = true;
  }
  ++self.depth;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void RealWorld::leave_critical() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (--self.depth == 0) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (self.n_deferred) run_deferred_wakes();
    if (__builtin_expect(self.blocks_signals, 0)) {
      self.blocks_signals = false;
      os::change_signal_mask(SIG_SETMASK, self.blocked_before);
    }
  }
}

void (*wake_everybody)() = [] {};

void defer_wake(void (*run)(const void*, std::uint32_t), const void* key, std::uint32_t count) {
  NoSignals guard;  // another handler may add to the list, or, with Roost left already, run it
  for (std::uint32_t i = 0; i < self.n_deferred; ++i) {
    if (self.deferred[i].run == run && self.deferred[i].key == key) {
      self.deferred[i].count += count;
      return;
    }
  }
  if (self.n_deferred < kDeferred) {
    self.deferred[self.n_deferred++] = {run, key, count};
  } else {
    self.too_many_deferred = true;
  }
}

void run_deferred_wakes() {
  DeferredWake taken[kDeferred];
  while (self.n_deferred) {
    std::uint32_t count = 0;
    {
      NoSignals guard;
      for (; count < self.n_deferred; ++count) taken[count] = self.deferred[count];
      self.n_deferred = 0;
    }
    for (std::uint32_t i = 0; i < count; ++i) taken[i].run(taken[i].key, taken[i].count);
    if (self.too_many_deferred) {
      self.too_many_deferred = false;
      wake_everybody();
    }
  }
}

void hand_on_deferred_wakes() {
  if (!self.n_deferred) return;
  NoSignals guard;
  while (self.n_deferred && hand_on(self.deferred[self.n_deferred - 1])) --self.n_deferred;
}

void issue_wakes_handed_on(bool (*may_issue)(const void*)) {
  if (!any_handed_on.exchange(false, std::memory_order_acquire)) return;
  for (HandedOn& slot : handed_on) {
    if (slot.place.load(std::memory_order_acquire) != Place::full) continue;
    if (!may_issue(slot.wake.key)) {
      any_handed_on.store(true, std::memory_order_relaxed);
      continue;
    }
    DeferredWake wake = slot.wake;
    slot.place.store(Place::free, std::memory_order_release);
    wake.run(wake.key, wake.count);
  }
}

}  // namespace roost

// The calling thread's state, and wake-ups that had to wait until Roost was left.
#include "sched/self.h"

#include <signal.h>

#include <algorithm>
#include <limits>

#include "os/sys.h"

namespace roost {
namespace {

// Wake-ups that signal handlers asked for while they had interrupted Roost itself. Whoever turns a
// place from free or full to taken has it.
enum class Place : std::uint8_t { free, taken, full };
struct DeferredWake {
  std::atomic<Place> place{Place::free};
  std::atomic<const Self*> who{nullptr};
  std::atomic<Nanoseconds> since{0};
  void (*run)(const void* key, std::uint32_t count) = nullptr;
  const void* key = nullptr;
  std::uint32_t count = 0;

  bool take(Place from) {
    return place.load(std::memory_order_relaxed) == from &&
           place.compare_exchange_strong(from, Place::taken, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  bool is_own() const { return who.load(std::memory_order_relaxed) == &self; }
  void leave(Place as) { place.store(as, std::memory_order_release); }
  void forget() {
    who.store(nullptr, std::memory_order_relaxed);
    leave(Place::free);
  }
  void add(std::uint32_t more) {
    constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
    count = more < kAll - count ? count + more : kAll;
  }
  // Taken before.
  void issue() {
    auto* wake = run;
    const void* what = key;
    std::uint32_t how_many = count;
    forget();
    wake(what, how_many);
  }
};
// More than there are threads in sections at a time, as those have a core each but for moments.
constinit DeferredWake deferred[256] = {};

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
    if (self.has_deferred.load(std::memory_order_relaxed)) run_deferred_wakes();
    if (__builtin_expect(self.blocks_signals, 0)) {
      self.blocks_signals = false;
      os::change_signal_mask(SIG_SETMASK, self.blocked_before);
    }
  }
}

bool (*wake_everybody)() = [] { return true; };

// Since when wake-ups have been left of which nothing is noted, 0: none. Everybody is woken
// instead.
static std::atomic<Nanoseconds> too_many_since{0};

static void wake_instead(Nanoseconds once_as_old_as) {
  Nanoseconds since = too_many_since.load(std::memory_order_relaxed);
  if (!since || os::now() - since < once_as_old_as ||
      !too_many_since.compare_exchange_strong(since, 0, std::memory_order_acquire) ||
      wake_everybody())
    return;
  Nanoseconds none = 0;
  too_many_since.compare_exchange_strong(none, since, std::memory_order_release);
}

static bool note_wake(void (*run)(const void*, std::uint32_t), const void* key,
                      std::uint32_t count) {
  for (DeferredWake& wake : deferred) {
    if (!wake.is_own() || !wake.take(Place::full)) continue;
    bool same = wake.is_own() && wake.run == run && wake.key == key;
    if (same) wake.add(count);
    wake.leave(Place::full);
    if (same) return true;
  }
  for (DeferredWake& wake : deferred) {
    if (!wake.take(Place::free)) continue;
    wake.who.store(&self, std::memory_order_relaxed);
    wake.since.store(os::now(), std::memory_order_relaxed);
    wake.run = run;
    wake.key = key;
    wake.count = count;
    wake.leave(Place::full);
    return true;
  }
  return false;
}

void defer_wake(void (*run)(const void*, std::uint32_t), const void* key, std::uint32_t count) {
  if (!note_wake(run, key, count)) {
    // Changed or not: who takes it sees what was done before.
    Nanoseconds since = too_many_since.load(std::memory_order_relaxed);
    while (!too_many_since.compare_exchange_weak(
        since, since ? since : os::now(), std::memory_order_release, std::memory_order_relaxed))
      continue;
  }
  self.has_deferred.store(true, std::memory_order_relaxed);
}

void run_deferred_wakes() {
  while (self.has_deferred.exchange(false, std::memory_order_relaxed)) {
    for (DeferredWake& wake : deferred) {
      // The keeper may be about to put it back.
      while (wake.is_own() && wake.place.load(std::memory_order_acquire) == Place::taken)
        os::yield();
      if (wake.is_own() && wake.take(Place::full)) wake.issue();
    }
    wake_instead(0);
  }
}

bool wakes_are_deferred() {
  return too_many_since.load(std::memory_order_relaxed) ||
         std::ranges::any_of(deferred, [](const DeferredWake& wake) {
           return wake.place.load(std::memory_order_relaxed) != Place::free;
         });
}

void forget_deferred_wakes() {
  // What is not written need not be copied for the child.
  for (DeferredWake& wake : deferred)
    if (wake.place.load(std::memory_order_relaxed) != Place::free) wake.forget();
  too_many_since.store(0, std::memory_order_relaxed);
  self.has_deferred.store(false, std::memory_order_relaxed);
}

void issue_overdue_wakes(bool (*may_issue)(const void*)) {
  if (too_many_since.load(std::memory_order_relaxed)) {
    keep_handlers_out_of_sections();
    wake_instead(kWakeOverdue);
  }
  for (DeferredWake& wake : deferred) {
    if (wake.place.load(std::memory_order_relaxed) != Place::full) continue;
    if (os::now() - wake.since.load(std::memory_order_relaxed) < kWakeOverdue) continue;
    if (!wake.take(Place::full)) continue;
    keep_handlers_out_of_sections();
    may_issue(wake.key) ? wake.issue() : wake.leave(Place::full);
  }
}

}  // namespace roost

// The calling thread's state, and wake-ups that had to wait until Roost was left.
#include "sched/self.h"

#include <signal.h>

#include "os/sys.h"

namespace roost {
namespace {

constexpr std::uint32_t kDeferred = sizeof self.deferred / sizeof self.deferred[0];

// While the list of deferred wake-ups is touched: another handler may add to it, or, with Roost
// left already, run it. Two system calls, only where a handler met Roost at work.
class NoSignals {
 public:
  NoSignals() {
    std::uint64_t all = ~0ull;
    os::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, os::arg(&all), os::arg(&before_), sizeof all);
  }
  ~NoSignals() {
    os::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, os::arg(&before_), 0, sizeof before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace

constinit thread_local Self self;
constinit thread_local std::uint32_t roost_seen_epoch = 0;
std::atomic<std::uint32_t> scheduling_epoch{0};
void (*at_new_epoch)() = [] {};

void RealWorld::enter_critical() {
  ++self.depth;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void RealWorld::leave_critical() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (--self.depth == 0) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (self.n_deferred) run_deferred_wakes();
  }
}

void (*wake_everybody)() = [] {};

void defer_wake(void (*run)(const void*, std::uint32_t), const void* key, std::uint32_t count) {
  NoSignals guard;
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

}  // namespace roost

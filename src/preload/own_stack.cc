// A few stacks for all threads: nobody stays on one for more than some microseconds.
#include "preload/own_stack.h"

#include <signal.h>

#include <atomic>

#include "os/sys.h"
#include "spin/other_stack.h"

namespace roost {
namespace {

constexpr unsigned kStacks = 4;
struct alignas(64) Stack {
  char bytes[32 * 1024];
};
Stack stacks[kStacks];
std::atomic<bool> in_use[kStacks];

unsigned take_stack() {
  for (unsigned i = 0; i < kStacks; ++i)
    if (!in_use[i].exchange(true, std::memory_order_acquire)) return i;
  return kStacks;
}

}  // namespace

bool call_on_own_stack(void (*function)(void*), void* data) {
  unsigned taken = take_stack();
  if (taken == kStacks) return false;
  spin::call_on_stack(stacks[taken].bytes + sizeof stacks[taken].bytes, function, data);
  in_use[taken].store(false, std::memory_order_release);
  return true;
}

void set_signal_mask_of(const ucontext_t& interrupted) {
  os::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, os::arg(&interrupted.uc_sigmask), 0, 8);
}

void own_stacks_after_fork() {
  for (auto& used : in_use) used.store(false, std::memory_order_relaxed);
}

}  // namespace roost

// A few stacks for all threads: nobody stays on one for more than a millisecond or two, but in a
// program's handler of a fault.
#include "preload/own_stack.h"

#include <signal.h>
#include <string.h>

#include <atomic>

#include "os/sys.h"

namespace roost {
namespace {

constexpr unsigned kStacks = 4;
struct alignas(64) Stack {
  char bytes[64 * 1024];
};
Stack stacks[kStacks];
std::atomic<bool> in_use[kStacks];
// The calling thread's.
constinit thread_local void* taken __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

void* take_own_stack() {
  for (unsigned i = 0; i < kStacks; ++i)
    if (!in_use[i].exchange(true, std::memory_order_acquire)) return taken = &stacks[i] + 1;
  return nullptr;
}

void give_own_stack(void* top) {
  taken = nullptr;
  in_use[static_cast<Stack*>(top) - 1 - stacks].store(false, std::memory_order_release);
}

void give_back_left_stack() {
  if (taken) give_own_stack(taken);
}

void set_signal_mask_of(const ucontext_t& interrupted) {
  std::uint64_t mask;
  memcpy(&mask, &interrupted.uc_sigmask, sizeof mask);
  os::change_signal_mask(SIG_SETMASK, mask);
}

void block_all_signals() { os::change_signal_mask(SIG_SETMASK, kAllButSigsys); }
BlockSignals::BlockSignals() { os::change_signal_mask(SIG_SETMASK, kAllButSigsys, &before_); }
BlockSignals::~BlockSignals() { os::change_signal_mask(SIG_SETMASK, before_); }

void own_stacks_after_fork() {
  for (auto& used : in_use) used.store(false, std::memory_order_relaxed);
  taken = nullptr;
}

}  // namespace roost

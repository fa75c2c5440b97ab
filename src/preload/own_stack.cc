// A few stacks for all threads: nobody stays on one for more than some microseconds.
#include "preload/own_stack.h"

#include <signal.h>

#include <atomic>

#include "os/sys.h"

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

void call_on(Stack& stack, void (*function)(void*), void* data) {
#if defined(__x86_64__)
  char* top = stack.bytes + sizeof stack.bytes;
  asm volatile(
      "mov %%rsp, %%rbx\n\t"
      "mov %[top], %%rsp\n\t"
      "call *%[function]\n\t"
      "mov %%rbx, %%rsp"
      : "+D"(data)
      : [top] "r"(top), [function] "r"(function)
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
#else
  static_cast<void>(stack);
  function(data);
#endif
}

}  // namespace

bool call_on_own_stack(void (*function)(void*), void* data) {
  unsigned taken = take_stack();
  if (taken == kStacks) return false;
  call_on(stacks[taken], function, data);
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

// Who executes a thread's instructions in its place faults in its place: a page may have been
// protected meanwhile by a program that notes by its handler which pages change.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

namespace roost::spin {

// While there is one, the program's handlers of SIGSEGV and SIGBUS run. In a signal handler that
// has all signals blocked, perhaps on another stack than the kernel knows of. `call`: syscall(2),
// whatever it returns on error.
class FaultsPass {
 public:
  using SystemCall = long (*)(long number, long a, long b, long c, long d);

  explicit FaultsPass(SystemCall call) : call_(call) {
    call_(SYS_sigaltstack, 0, arg(&alternate_), 0, 0);
    // The interrupted handler's frame lies there; another one's is to come here.
    hides_alternate_ = !(alternate_.ss_flags & (SS_DISABLE | SS_ONSTACK));
    stack_t none = {nullptr, SS_DISABLE, 0};
    if (hides_alternate_) call_(SYS_sigaltstack, arg(&none), 0, 0, 0);
    std::uint64_t faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
    call_(SYS_rt_sigprocmask, SIG_UNBLOCK, arg(&faults), arg(&blocked_), sizeof faults);
  }
  ~FaultsPass() {
    call_(SYS_rt_sigprocmask, SIG_SETMASK, arg(&blocked_), 0, sizeof blocked_);
    if (hides_alternate_) call_(SYS_sigaltstack, arg(&alternate_), 0, 0, 0);
  }
  FaultsPass(const FaultsPass&) = delete;
  FaultsPass& operator=(const FaultsPass&) = delete;

 private:
  static long arg(void* pointer) { return reinterpret_cast<long>(pointer); }

  SystemCall call_;
  stack_t alternate_ = {};
  std::uint64_t blocked_ = 0;
  bool hides_alternate_ = false;
};

}  // namespace roost::spin

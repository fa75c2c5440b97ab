// Who executes a thread's instructions in its place faults in its place: a page may have been
// protected meanwhile by a program that notes by its handler which pages change.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

namespace roost::spin {

// While there is one, the program's handlers of SIGSEGV and SIGBUS run. In a signal handler that
// has all other signals blocked, perhaps on another stack than the kernel knows of. `call`:
// syscall(2), whatever it returns on error.
class FaultsPass {
 public:
  using SystemCall = long (*)(long number, long a, long b, long c, long d);

  explicit FaultsPass(SystemCall call) : call_(call) {
    call_(SYS_sigaltstack, 0, arg(&hidden_stack_), 0, 0);
    // The interrupted handler's frame lies there; another one's is to come here.
    hides_stack_ = !(hidden_stack_.ss_flags & (SS_DISABLE | SS_ONSTACK));
    stack_t none = {nullptr, SS_DISABLE, 0};
    if (hides_stack_) call_(SYS_sigaltstack, arg(&none), 0, 0, 0);
    std::uint64_t faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
    call_(SYS_rt_sigprocmask, SIG_UNBLOCK, arg(&faults), arg(&blocked_), sizeof faults);
  }
  ~FaultsPass() {
    call_(SYS_rt_sigprocmask, SIG_SETMASK, arg(&blocked_), 0, sizeof blocked_);
    show_stack(call_);
  }
  FaultsPass(const FaultsPass&) = delete;
  FaultsPass& operator=(const FaultsPass&) = delete;

  // Where there is none: what one leaves out of which a handler has jumped.
  static void clean_up(SystemCall call) { show_stack(call); }

 private:
  static long arg(void* pointer) { return reinterpret_cast<long>(pointer); }
  static void show_stack(SystemCall call) {
    if (hides_stack_) call(SYS_sigaltstack, arg(&hidden_stack_), 0, 0, 0);
    hides_stack_ = false;
  }

  // The thread's alternate stack.
  static inline constinit thread_local stack_t hidden_stack_
      __attribute__((tls_model("initial-exec"))) = {};
  static inline constinit thread_local bool hides_stack_
      __attribute__((tls_model("initial-exec"))) = false;

  SystemCall call_;
  std::uint64_t blocked_ = 0;
};

}  // namespace roost::spin

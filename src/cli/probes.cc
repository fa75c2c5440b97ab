// Kernel services tried out, with raw calls: nothing may stand between us and the kernel's answer.
#include "cli/probes.h"

#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

#include "os/sys.h"

namespace roost::cli {
namespace {

// Numbers that older headers lack; the same on all architectures.
constexpr long kPidfdOpen = 434;
constexpr long kCloseRange = 436;
constexpr long kFutexWaitv = 449;
constexpr int kSetSyscallUserDispatch = 59;

Probe judge(long result, long also_fine = 0) {
  if (result >= 0 || (also_fine && result == also_fine)) return Probe::works;
  return result == -EPERM || result == -EACCES ? Probe::forbidden : Probe::missing;
}

volatile char selector;  // 1: calls trap
volatile sig_atomic_t trapped;

void on_trap(int, siginfo_t*, void*) {
  selector = 0;
  trapped = trapped + 1;
}

}  // namespace

Probe probe_futex_waitv() {
  // No waiters at all is refused as invalid, by kernels that have the call.
  return judge(os::raw_syscall(kFutexWaitv, 0, 0, 0, 0, 0), -EINVAL);
}

Probe probe_pidfd() {
  long fd = os::raw_syscall(kPidfdOpen, os::getpid(), 0);
  if (fd >= 0) os::close(static_cast<int>(fd));
  return judge(fd);
}

Probe probe_close_range() { return judge(os::raw_syscall(kCloseRange, ~0u, ~0u, 0)); }

int trap_calls(unsigned count) {
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  trapped = 0;
  long result = os::raw_syscall(SYS_prctl, kSetSyscallUserDispatch, 1, 0, 0, os::arg(&selector));
  if (result != 0) return static_cast<int>(-result);
  for (unsigned i = 0; i < count; ++i) {
    selector = 1;
    os::raw_syscall(SYS_getpid);
  }
  selector = 0;
  return static_cast<unsigned>(trapped) == count ? 0 : ENOSYS;
}

Probe probe_syscall_user_dispatch() {
  pid_t child = fork();
  if (child < 0) return Probe::forbidden;
  if (child == 0) os::raw_syscall(SYS_exit_group, trap_calls(1));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? judge(-WEXITSTATUS(status)) : Probe::missing;
}

Probe probe_affinity() {
  std::uint64_t mask[8192 / 64] = {};
  int bytes = os::get_affinity(0, mask, sizeof mask);
  return judge(bytes < 0 ? bytes : os::set_affinity(0, mask, static_cast<std::size_t>(bytes)));
}

}  // namespace roost::cli

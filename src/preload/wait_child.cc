// Waiting for a child process: libc's own call with the core given away.
//
// A parent that waits on the only core would else keep it from its child until the watchdog looks.
#include <sys/resource.h>
#include <sys/wait.h>

#include "preload/blocking.h"

namespace roost {
namespace {

ROOST_LISTED constinit Real<pid_t(pid_t, int*, int)> real_waitpid{"waitpid"};
ROOST_LISTED constinit Real<pid_t(pid_t, int*, int, rusage*)> real_wait4{"wait4"};
ROOST_LISTED constinit Real<int(int, id_t, siginfo_t*, int)> real_waitid{"waitid"};

pid_t wait_for(pid_t pid, int* status, int options, rusage* usage) {
  if (options & WNOHANG) return real_wait4(pid, status, options, usage);
  return without_core_anywhere([&] { return real_wait4(pid, status, options, usage); });
}

}  // namespace

ROOST_EXPORT pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  return wait_for(pid, status, options, usage);
}
ROOST_FOR_LIBC(pid_t, wait4, (pid_t pid, int* status, int options, rusage* usage) noexcept,
               (pid, status, options, usage))
ROOST_EXPORT pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return wait_for(-1, status, options, usage);
}
ROOST_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  if (options & WNOHANG) return real_waitpid(pid, status, options);
  return without_core_anywhere([&] { return real_waitpid(pid, status, options); });
}
ROOST_EXPORT pid_t wait(int* status) { return waitpid(-1, status, 0); }
ROOST_EXPORT int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (options & WNOHANG) return real_waitid(type, id, info, options);
  return without_core_anywhere([&] { return real_waitid(type, id, info, options); });
}

}  // namespace roost

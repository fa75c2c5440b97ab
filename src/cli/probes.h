// Tries out kernel services, since version numbers do not tell what a container permits.
#pragma once

namespace roost::cli {

enum class Probe {
  works,
  missing,    // the kernel is too old, or built without it
  forbidden,  // a seccomp filter or the like refuses it
};

Probe probe_futex_waitv();            // Linux 5.16
Probe probe_pidfd();                  // Linux 5.3
Probe probe_close_range();            // Linux 5.9
Probe probe_syscall_user_dispatch();  // Linux 5.11; traps a call in a child process
// Traps so many calls of the caller's, which must be a child of its own: SIGSYS has a handler then.
// 0, or an errno.
int trap_calls(unsigned count);
Probe probe_affinity();  // sets the caller's mask to what it is

}  // namespace roost::cli

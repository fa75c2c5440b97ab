// What vfork (vfork_entry.S) does before and after its call of the kernel.
#include <errno.h>

#include "preload/trap.h"
#include "preload/wait.h"

namespace roost {
namespace {

// The thread's own: a child finds it too, but is told from its parent by its process id.
constinit thread_local bool core_given __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

extern "C" {

// From here on the child's calls of Roost pass through: the thread is `in_kernel`.
__attribute__((visibility("hidden"), used)) void roost_vfork_begins() {
  int saved = errno;
  if (in_managed_process()) {
    core_given = can_park();
    if (core_given) enter_external();
  }
  errno = saved;
  os::let_calls_through();
}

// In the parent alone: the kernel's result, as vfork returns it.
__attribute__((visibility("hidden"), used)) pid_t roost_vfork_ends(long result) {
  os::trap_calls_again();
  int saved = result < 0 ? static_cast<int>(-result) : errno;
  if (in_managed_process() && core_given) {
    core_given = false;
    leave_external();
  }
  errno = saved;
  return result < 0 ? -1 : static_cast<pid_t>(result);
}
}

}  // namespace roost

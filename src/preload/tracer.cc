// Tracers (strace, gdb) are the kernel's: whom they trace stops with its core at each of their
// looks, and they would wait for that core.
#include <linux/ptrace.h>
#include <sys/types.h>

#include "preload/real.h"
#include "preload/wait.h"
#include "roost/roost.h"
#include "sched/runtime.h"

namespace roost {
namespace {

using Ptrace = long(int request, pid_t, void* address, void* data);
ROOST_LISTED constinit Real<Ptrace> real_ptrace{"ptrace"};

}  // namespace

// The caller leaves scheduling for good, unless it asks to be traced. (libc declares a variable
// list of arguments, of which it always takes three.)
ROOST_EXPORT long ptrace(int request, pid_t pid, void* address, void* data) noexcept {
  resolve_functions();
  if (request != PTRACE_TRACEME && self.record && in_managed_process()) roost_detach();
  return real_ptrace(request, pid, address, data);
}

}  // namespace roost

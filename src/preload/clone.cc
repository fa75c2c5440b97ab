// clone(): threads that libc does not know, and that Roost leaves to the kernel.
#include <sched.h>
#include <stdarg.h>
#include <sys/types.h>

#include "preload/futex.h"
#include "preload/real.h"

namespace roost {
namespace {

ROOST_LISTED constinit Real<int(int (*)(void*), void*, int, void*, pid_t*, void*, pid_t*)>
    real_clone{"clone"};

}  // namespace

ROOST_EXPORT int clone(int (*function)(void*), void* stack, int flags, void* data, ...) noexcept {
  va_list list;
  va_start(list, data);
  auto* parent_tid = va_arg(list, pid_t*);
  auto* thread_pointer = va_arg(list, void*);
  auto* child_tid = va_arg(list, pid_t*);
  va_end(list);
  if (flags & CLONE_VM) futexes_may_wait_unseen();
  return real_clone(function, stack, flags, data, parent_tid, thread_pointer, child_tid);
}

}  // namespace roost

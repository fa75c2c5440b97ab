// clone(): threads that libc does not know, and processes, which Roost leaves to the kernel.
#include <sched.h>
#include <stdarg.h>
#include <sys/types.h>

#include "preload/futex.h"
#include "preload/process.h"
#include "preload/real.h"

namespace roost {
namespace {

ROOST_LISTED constinit Real<int(int (*)(void*), void*, int, void*, pid_t*, void*, pid_t*)>
    real_clone{"clone"};

// In the parent's frame, of which a child with memory of its own has a copy.
struct Child {
  int (*function)(void*);
  void* data;
};

int begin_child(void* data) {
  Child child = *static_cast<Child*>(data);
  after_clone_in_child();
  return child.function(child.data);
}

}  // namespace

ROOST_EXPORT int clone(int (*function)(void*), void* stack, int flags, void* data, ...) noexcept {
  va_list list;
  va_start(list, data);
  auto* parent_tid = va_arg(list, pid_t*);
  auto* thread_pointer = va_arg(list, void*);
  auto* child_tid = va_arg(list, pid_t*);
  va_end(list);
  Child child{function, data};
  if (flags & CLONE_VM) {
    futexes_may_wait_unseen();
    if (shares_memory_as_process(static_cast<unsigned>(flags))) processes_may_share_memory();
  } else if (function && stack) {
    function = begin_child;
    data = &child;
  }
  return real_clone(function, stack, flags, data, parent_tid, thread_pointer, child_tid);
}

}  // namespace roost

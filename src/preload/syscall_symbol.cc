// syscall(): the calls through it that block, yield or concern affinity are treated as their
// wrappers.
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "preload/blocking.h"
#include "preload/futex.h"
#include "preload/process.h"
#include "preload/served_syscall.h"

namespace roost {

namespace {

// Whether the call, where it returns 0, has returned in a new process with memory of its own.
bool makes_process(const SystemCall& call) {
  std::uint64_t flags;
  return is_clone(call, flags) && !(flags & CLONE_VM);
}

}  // namespace

ROOST_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  SystemCall call{number,
                  va_arg(list, long),
                  va_arg(list, long),
                  va_arg(list, long),
                  va_arg(list, long),
                  va_arg(list, long),
                  va_arg(list, long)};
  va_end(list);
  if (number == SYS_futex && !self.record) futexes_may_wait_unseen();
  long result;
  if (self.record && serve_syscall(call, result)) return as_libc(result);
  result = real::syscall(call.number, call.a, call.b, call.c, call.d, call.e, call.f);
  if (result == 0 && makes_process(call)) after_clone_in_child();
  return result;
}

}  // namespace roost

// syscall(): the calls through it that block, yield or concern affinity are treated as their
// wrappers.
#include <stdarg.h>
#include <sys/syscall.h>

#include "preload/blocking.h"
#include "preload/futex.h"
#include "preload/served_syscall.h"

namespace roost {

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
  if (!self.record || !serve_syscall(call, result))
    return real::syscall(call.number, call.a, call.b, call.c, call.d, call.e, call.f);
  return as_libc(result);
}

}  // namespace roost

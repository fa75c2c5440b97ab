// syscall(): the calls through it that block, yield or concern affinity are treated as their
// wrappers.
//
// A futex wait is made in the kernel, with the core given away: its waker may be the kernel itself
// or code that Roost does not see, so the word must be waited on for real.
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "preload/affinity.h"
#include "preload/blocking.h"
#include "preload/syscall_wait.h"

namespace roost {
namespace {

// A futex whose word has changed already: the kernel judges the arguments, and does not wait.
bool word_differs(long word, long operation, long expected) {
  long command = operation & FUTEX_CMD_MASK;
  return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
         __atomic_load_n(reinterpret_cast<std::uint32_t*>(word), __ATOMIC_RELAXED) !=
             static_cast<std::uint32_t>(expected);
}

}  // namespace

ROOST_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
  long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (!self.record) return real::syscall(number, a, b, c, d, e, f);
  if (number == SYS_futex && word_differs(a, b, c))
    return as_libc(os::raw_syscall(number, a, b, c, d, e, f));
  if (syscall_may_wait(number, {a, b, c, d, e, f}))
    return as_libc(without_core([&] { return os::raw_syscall(number, a, b, c, d, e, f); }));
  switch (number) {
    case SYS_close:
      forget(static_cast<int>(a));
      break;
    case SYS_dup3:
      forget(static_cast<int>(b));
      break;
    case SYS_sched_yield:
      return sched_yield();
    case SYS_sched_setaffinity:
      if (!affinity_is_ours(static_cast<pid_t>(a))) break;
      return as_libc(-set_affinity_hint(static_cast<pid_t>(a), static_cast<std::size_t>(b),
                                        reinterpret_cast<void*>(c)));
    case SYS_sched_getaffinity: {
      if (!affinity_is_ours(static_cast<pid_t>(a))) break;
      // The kernel returns the bytes it wrote, never more than its own mask.
      std::size_t bytes = static_cast<std::size_t>(b) < 128 ? static_cast<std::size_t>(b) : 128;
      int error = get_affinity_hint(static_cast<pid_t>(a), bytes, reinterpret_cast<void*>(c));
      return error ? as_libc(-error) : static_cast<long>(bytes);
    }
    default:
      break;
  }
  return real::syscall(number, a, b, c, d, e, f);
}

}  // namespace roost

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
#include "preload/wait.h"

namespace roost {
namespace {

long with_errno(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

bool futex_blocks(long operation) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case 13 /* FUTEX_LOCK_PI2 */:
      return true;
    default:
      return false;
  }
}

bool blocks(long number, long b) {
  switch (number) {
    case SYS_futex:
      return futex_blocks(b);
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case 449 /* futex_waitv */:
      return true;
    default:
      return false;
  }
}

}  // namespace

ROOST_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
  long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (!self.record) return real::syscall(number, a, b, c, d, e, f);
  if (number == SYS_futex && blocks(number, b) &&
      __atomic_load_n(reinterpret_cast<std::uint32_t*>(a), __ATOMIC_RELAXED) !=
          static_cast<std::uint32_t>(c) &&
      ((b & FUTEX_CMD_MASK) == FUTEX_WAIT || (b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)) {
    // It will not block; let the kernel judge the arguments, without giving the core away.
    return with_errno(os::raw_syscall(number, a, b, c, d, e, f));
  }
  if (blocks(number, b)) {
    return with_errno(without_core([&] { return os::raw_syscall(number, a, b, c, d, e, f); }));
  }
  switch (number) {
    case SYS_sched_yield:
      return sched_yield();
    case SYS_sched_setaffinity:
      if (!affinity_is_ours(static_cast<pid_t>(a))) break;
      return with_errno(-set_affinity_hint(static_cast<pid_t>(a), static_cast<std::size_t>(b),
                                           reinterpret_cast<void*>(c)));
    case SYS_sched_getaffinity: {
      if (!affinity_is_ours(static_cast<pid_t>(a))) break;
      // The kernel returns the bytes it wrote, never more than its own mask.
      std::size_t bytes = static_cast<std::size_t>(b) < 128 ? static_cast<std::size_t>(b) : 128;
      int error = get_affinity_hint(static_cast<pid_t>(a), bytes, reinterpret_cast<void*>(c));
      return error ? with_errno(-error) : static_cast<long>(bytes);
    }
    default:
      break;
  }
  return real::syscall(number, a, b, c, d, e, f);
}

}  // namespace roost

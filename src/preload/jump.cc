// longjmp out of a signal handler that interrupted a wait.
//
// A handler may leave read, pause and every other async-signal-safe call by a jump. The thread is
// then without a core, and the frame that would ask for one again is gone: so it asks before it
// jumps. (A jump within the handler itself asks for nothing; the watchdog then takes back the core
// from the call that goes on.)
#include <setjmp.h>

#include "preload/futex.h"
#include "preload/wait.h"

namespace roost {
namespace {

ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real_longjmp{"longjmp"};
ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real__longjmp{"_longjmp"};
ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real_siglongjmp{"siglongjmp"};
ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real___longjmp_chk{"__longjmp_chk"};

template <class Real>
__attribute__((noreturn)) void jump(Real& behind, __jmp_buf_tag* to, int value) {
  abandon_futex_wait();
  if (__builtin_expect(self.in_kernel || self.parked, 0) && in_managed_process()) abandon_wait();
  behind(to, value);
  __builtin_unreachable();
}

}  // namespace

ROOST_EXPORT __attribute__((noreturn)) void longjmp(__jmp_buf_tag* to, int value) noexcept {
  jump(real_longjmp, to, value);
}
ROOST_EXPORT __attribute__((noreturn)) void _longjmp(__jmp_buf_tag* to, int value) noexcept {
  jump(real__longjmp, to, value);
}
ROOST_EXPORT __attribute__((noreturn)) void siglongjmp(__jmp_buf_tag* to, int value) noexcept {
  jump(real_siglongjmp, to, value);
}
ROOST_EXPORT __attribute__((noreturn)) void __longjmp_chk(__jmp_buf_tag* to, int value) noexcept {
  jump(real___longjmp_chk, to, value);
}

}  // namespace roost

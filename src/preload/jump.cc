// longjmp out of a signal handler that interrupted a wait.
//
// A handler may leave read, pause and every other async-signal-safe call by a jump. The thread is
// then without a core, and the frame that would ask for one again is gone: so it asks before it
// jumps. In a call that nobody was to disturb, it may be asked again from then on. (A jump within
// the handler itself asks for nothing; the watchdog then takes back the core from the call that
// goes on.)
//
// A handler that comes while the thread gives its core away, or asks for one, may not jump: what it
// interrupts would never be finished. Programs that mean to jump out of handlers have called
// sigsetjmp before, so that the signal's mask is restored; from then on no handler comes there.
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
  self.inside_libc = false;
  bool waits = self.in_kernel || self.parked;
  if (__builtin_expect(waits || WithoutNudges::any(), 0) && in_managed_process()) {
    if (waits) abandon_wait();
    WithoutNudges::end();
  }
  behind(to, value);
  __builtin_unreachable();
}

ROOST_LISTED constinit Real<int(__jmp_buf_tag*, int)> real_sigsetjmp{"__sigsetjmp"};

}  // namespace

// Called by preload/jump_entry.S, which goes on at what it returns.
extern "C" __attribute__((visibility("hidden"))) void* roost_sigsetjmp_of_libc(int keeps_mask);
void* roost_sigsetjmp_of_libc(int keeps_mask) {
  // Stored once: all threads read its cache line.
  if (keeps_mask && !handlers_may_jump.load(std::memory_order_relaxed))
    handlers_may_jump.store(true, std::memory_order_relaxed);
  return reinterpret_cast<void*>(real_sigsetjmp.get());
}

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

// longjmp and pthread_exit out of a signal handler that interrupted a wait.
//
// A handler may leave read, pause and every other async-signal-safe call by a jump; Linux bears it
// of most other waits, too. The thread is then without a core, or queued in the parking lot, and
// the frame that would see to that is gone: so it is seen to before the jump. In a call that nobody
// was to disturb, the thread may be asked again from then on. (A jump within the handler itself
// leaves nothing. Waits in the lot begin anew after it; from a call that goes on in the kernel the
// watchdog takes the core back.)
//
// A handler that comes while Roost changes what is shared may not jump: what it interrupts would
// never be finished. Programs that mean to jump out of handlers have called sigsetjmp before, so
// that the signal's mask is restored; from then on no handler comes there. For one that ends its
// thread it is so only after such an accident.
#include <pthread.h>
#include <setjmp.h>
#include <threads.h>

#include "preload/mutex.h"
#include "preload/wait.h"

namespace roost {
namespace {

ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real_longjmp{"longjmp"};
ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real__longjmp{"_longjmp"};
ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real_siglongjmp{"siglongjmp"};
ROOST_LISTED constinit Real<void(__jmp_buf_tag*, int)> real___longjmp_chk{"__longjmp_chk"};

ROOST_LISTED constinit Real<void(void*)> real_pthread_exit{"pthread_exit"};
ROOST_LISTED constinit Real<void(int)> real_thrd_exit{"thrd_exit"};

// Returns the mutex of a condition variable that was waited for. `drops_cleanups`: what libc is to
// do in the frames that are left, should the thread end there, is not done.
pthread_mutex_t* leave_waits(bool drops_cleanups) {
  pthread_mutex_t* unlocked = LotHost::abandon_all();
  self.inside_libc = false;
  bool waits = self.in_kernel || self.parked;
  if (__builtin_expect(waits || WithoutNudges::any() || roost_is_cancellable(), 0) &&
      in_managed_process()) {
    if (waits) abandon_wait();
    if (drops_cleanups) roost_leave_cancellable();
    WithoutNudges::end();
  }
  return unlocked;
}

template <class Real>
__attribute__((noreturn)) void jump(Real& behind, __jmp_buf_tag* to, int value) {
  leave_waits(true);
  behind(to, value);
  __builtin_unreachable();
}

template <class Real, class Result>
__attribute__((noreturn)) void end_thread(Real& behind, Result result) {
  if (inside_roost()) keep_handlers_out_of_sections();
  // The cleanup handlers of who waits for a condition variable have its mutex, as in libc.
  if (pthread_mutex_t* unlocked = leave_waits(false)) lock_after_condition(unlocked);
  behind(result);
  __builtin_unreachable();
}

ROOST_LISTED constinit Real<int(__jmp_buf_tag*, int)> real_sigsetjmp{"__sigsetjmp"};

}  // namespace

// Called by preload/jump_entry.S, which goes on at what it returns.
extern "C" __attribute__((visibility("hidden"))) void* roost_sigsetjmp_of_libc(int keeps_mask);
void* roost_sigsetjmp_of_libc(int keeps_mask) {
  if (keeps_mask) keep_handlers_out_of_sections();
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

ROOST_EXPORT __attribute__((noreturn)) void pthread_exit(void* result) {
  end_thread(real_pthread_exit, result);
}
ROOST_EXPORT __attribute__((noreturn)) void thrd_exit(int result) {
  end_thread(real_thrd_exit, result);
}

}  // namespace roost

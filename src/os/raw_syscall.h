// System calls issued directly: no PLT, no errno, results as the kernel gives them (-errno on
// error).
//
// Everything Roost asks of the kernel goes through here and sys.h, because libc's own entry points
// may be interposed by Roost itself and would overwrite the host program's errno.
//
// Where a thread's inline system calls are trapped (preload/trap.h), its selector lets ours
// through. Every call arms the trap again, so a signal handler that jumped out of one leaves no gap
// for long; one that armed it within a call has that call trapped, and made again. About 2 ns.
#pragma once

#include <sys/syscall.h>

namespace roost::os {

#if defined(__x86_64__)
#if defined(ROOST_GUEST)
// `now` is read by the kernel at system calls from outside libc: 0 lets them through, 1 traps them.
// `armed` is what it is to be in the program's own code.
struct TrapSelector {
  volatile char now;
  volatile char armed;
};
extern "C" constinit thread_local TrapSelector roost_trap_selector
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline void let_calls_through() { roost_trap_selector.now = 0; }
inline void trap_calls_again() { roost_trap_selector.now = roost_trap_selector.armed; }
#else
inline void let_calls_through() {}
inline void trap_calls_again() {}
#endif
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  let_calls_through();
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  trap_calls_again();
  return result;
}
#elif defined(__aarch64__)
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}
#else
#error "Roost supports x86-64 and aarch64"
#endif

template <class T>
long arg(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace roost::os

// System calls issued directly: no PLT, no errno, results as the kernel gives them (-errno on
// error).
//
// Everything Roost asks of the kernel goes through here and sys.h, because libc's own entry points
// may be interposed by Roost itself and would overwrite the host program's errno.
//
// Inside programs (ROOST_GUEST) the instruction itself is reached by an indirect call, so that it
// can be libc's: where a thread's inline system calls are trapped (preload/trap.h), only those in
// libc's text go through, and ours must. Costs about a nanosecond. Needs -mno-red-zone, as the call
// pushes.
#pragma once

#include <sys/syscall.h>

namespace roost::os {

#if defined(__x86_64__)
#if defined(ROOST_GUEST)
// Points at a `syscall; ret`: one of this library until the trap is set up, then libc's.
extern "C" __attribute__((visibility("hidden"))) const void* roost_syscall_gate;
#define ROOST_SYSCALL "call *roost_syscall_gate(%%rip)"
#else
#define ROOST_SYSCALL "syscall"
#endif
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile(ROOST_SYSCALL
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#undef ROOST_SYSCALL
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

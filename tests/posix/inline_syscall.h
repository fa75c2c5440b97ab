// System calls by an instruction of the program's own, as libgomp, Go and others make them.
// Elsewhere than on x86-64 they are libc's syscall().
#pragma once

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS(p) ((long)(uintptr_t)(p))

// The kernel's result: -errno on error. Always inlined, so each use is a site of its own.
#if defined(__x86_64__)
__attribute__((always_inline, unused)) static inline long inline_call(long number, long a, long b,
                                                                      long c, long d, long e,
                                                                      long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#else
__attribute__((unused)) static long inline_call(long number, long a, long b, long c, long d, long e,
                                                long f) {
  long result = syscall(number, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
}
#endif
#define INLINE_6(number, a, b, c, d, e, f, ...) \
  inline_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
// Up to six arguments; those left out are 0.
#define INLINE(...) INLINE_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

__attribute__((unused)) static long inline_futex_wait(uint32_t* word, uint32_t value,
                                                      const struct timespec* timeout) {
  return INLINE(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, timeout);
}
__attribute__((unused)) static long inline_futex_wake(uint32_t* word, int count) {
  return INLINE(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count);
}

// Waits until *word is no longer `value`.
__attribute__((unused)) static void inline_await_change(uint32_t* word, uint32_t value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
    long result = inline_futex_wait(word, value, NULL);
    if (result != 0 && result != -EAGAIN && result != -EINTR) __builtin_trap();
  }
}
// The body of a thread that waits until the word it is given is no longer 0.
__attribute__((unused)) static void* inline_await_set(void* word) {
  inline_await_change(word, 0);
  return NULL;
}
__attribute__((unused)) static void inline_set(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (inline_futex_wake(word, INT_MAX) < 0) __builtin_trap();
}

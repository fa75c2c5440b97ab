// A library that waits by system calls of its own.
#include <limits.h>

#include "../inline_syscall.h"

long inline_wait(uint32_t* word, uint32_t value) { return inline_futex_wait(word, value, NULL); }
long inline_wake(uint32_t* word) { return inline_futex_wake(word, INT_MAX); }

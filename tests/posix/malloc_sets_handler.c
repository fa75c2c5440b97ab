// A malloc of the program's own that sets a signal handler when it is first called, under its lock,
// as allocators with guarded pages do. The first call may come from a library that starts before.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "expect.h"

enum { kAlign = 32 };

static _Alignas(kAlign) char arena[64 << 20];
static size_t used;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static int initialised, handled;

static void note(int signal) { handled = signal; }

static void initialise(void) {
  struct sigaction action = {.sa_handler = note};
  initialised = 1;
  if (sigaction(SIGUSR1, &action, NULL) != 0) _exit(3);
}

// The size lies before the memory.
static void* take(size_t bytes) {
  while (atomic_flag_test_and_set(&lock)) {  // for ever, if the thread itself has it
  }
  if (!initialised) initialise();
  size_t at = used + kAlign;
  used = (at + bytes + kAlign - 1) / kAlign * kAlign;
  if (used > sizeof arena) _exit(4);
  atomic_flag_clear(&lock);
  memcpy(arena + at - sizeof bytes, &bytes, sizeof bytes);
  return arena + at;
}

void* malloc(size_t bytes) { return take(bytes); }
void* calloc(size_t count, size_t bytes) { return take(count * bytes); }  // never used before
void free(void* memory) { (void)memory; }
void* realloc(void* memory, size_t bytes) {
  void* larger = take(bytes);
  size_t before = 0;
  if (memory) memcpy(&before, (char*)memory - sizeof before, sizeof before);
  return memcpy(larger, memory ? memory : larger, before < bytes ? before : bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  uintptr_t from = (uintptr_t)take(bytes + alignment);
  *memory = (void*)((from + alignment - 1) & ~(uintptr_t)(alignment - 1));
  return 0;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  void* memory;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void* count(void* number) {
  free(malloc(100));
  ++*(int*)number;
  return number;
}

CASE(the_program_starts_and_its_handler_is_set) {
  free(malloc(1));  // where no library has called it
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(handled, SIGUSR1);
}

CASE(threads_run) {
  int numbers[4] = {0};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, count, &numbers[i]), 0);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(numbers[i], 1);
  }
}

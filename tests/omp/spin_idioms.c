// sanitized: address
// reason: ThreadSanitizer holds signals back
//
// Members that have begun, and share OS threads, wait for each other in loops that call functions,
// count, take a lock and give it back, or look at the clock, and never yield.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "expect.h"

static int turn;
static int word;                  // of a lock
static volatile long look_count;  // of all, as it happens
static __thread long depth;

static __attribute__((noinline)) int is_turn_of(int me) {
  __asm__ volatile("");
  return __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == me;
}
static __attribute__((noinline)) int is_turn_below(int me, int calls) {
  int is = calls ? is_turn_below(me, calls - 1) : is_turn_of(me);
  __asm__ volatile("" : "+r"(is));
  return is;
}

static void by_calls(int me) {
  while (!is_turn_below(me, 5)) {
  }
}
static void counts(int me) {
  volatile long count = 0;
  while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != me) ++count;
}
static void counts_for_all(int me) {
  while (!is_turn_of(me)) ++look_count;
}
static void lock_word(void) {
  while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE)) {
  }
}
static void unlock_word(void) { __atomic_store_n(&word, 0, __ATOMIC_RELEASE); }
static void under_lock(int me) {
  for (int is = 0; !is;) {
    lock_word();
    is = is_turn_of(me);
    unlock_word();
  }
}
static void between_locks(int me) {
  lock_word();
  while (!is_turn_of(me)) {
    unlock_word();
    for (volatile int i = 0; i < 10; ++i) {
    }
    lock_word();
  }
  unlock_word();
}
// Another member must not find it in the midst.
static __attribute__((noinline)) int look_inside(int me) {
  EXPECT_EQ(++depth, 1);
  int is = is_turn_of(me);
  --depth;
  return is;
}
static void inside_once(int me) {
  while (!look_inside(me)) {
  }
}
// Another member must not leave its own there.
static void sets_errno(int me) {
  for (int is = 0; !is;) {
    errno = ERANGE;
    for (volatile int i = 0; i < 20; ++i) {
    }
    EXPECT_EQ(errno, ERANGE);
    errno = 0;
    is = is_turn_of(me);
  }
}
static void backs_off(int me) {
  for (unsigned delay = 1; !is_turn_of(me); delay *= delay < 128 ? 2 : 1)
    for (volatile unsigned i = 0; i < delay; ++i) {
    }
}
static __attribute__((noinline)) int look_by_heap(int me) {
  int* copy = (int*)malloc(40);
  *copy = is_turn_of(me);
  __asm__ volatile("" : : "r"(copy) : "memory");
  int is = *copy;
  free(copy);
  return is;
}
static void by_heap(int me) {
  while (!look_by_heap(me)) {
  }
}
static void by_runtime(int me) {
  while (!is_turn_of(me)) EXPECT_EQ(omp_get_thread_num(), me);
}
static void in_critical(int me) {
  for (int is = 0; !is;) {
#pragma omp critical
    is = is_turn_of(me);
  }
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void in_mutex(int me) {
  for (int is = 0; !is;) {
    pthread_mutex_lock(&mutex);
    is = is_turn_of(me);
    pthread_mutex_unlock(&mutex);
  }
}
static void by_polls(int me) {
  while (!is_turn_of(me)) poll(NULL, 0, 0);
}
static void by_clock(int me) {
  struct timespec now;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (!is_turn_of(me));
}

static void ring(void (*wait)(int), int members) {
  enum { kRounds = 3 };
  turn = 0;
#pragma omp parallel num_threads(members)
  {
#pragma omp barrier  // all have begun
    for (int round = 0; round < kRounds; ++round) {
      wait(omp_get_thread_num());
      __atomic_store_n(&turn, (omp_get_thread_num() + 1) % members, __ATOMIC_RELEASE);
    }
  }
  EXPECT_EQ(turn, 0);
}

int main(void) {
  allow_nesting();
  void (*idioms[])(int) = {by_calls,    counts,    counts_for_all, under_lock, between_locks,
                           inside_once, backs_off, by_heap,        by_clock,   by_runtime,
                           in_critical, in_mutex,  by_polls,       sets_errno};
  for (unsigned i = 0; i < sizeof idioms / sizeof *idioms; ++i) {
    // Of a nested region the members are light, the first time and later.
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) ring(idioms[i], 4);
  }
  return verdict();
}

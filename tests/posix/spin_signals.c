// Signals of programs whose threads spin, compute and wait while others could run: whoever asks
// such threads to make room must not disturb any.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "expect.h"

enum { SPINNERS = 4 };

static atomic_int stop_spinning;
static atomic_int turn;

static void start_all(pthread_t* threads, int count, void* (*body)(void*)) {
  for (long i = 0; i < count; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, body, (void*)i), 0);
}

static void join_all(pthread_t* threads, int count) {
  for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

// Rounds of turns: all but one of the spinners wait at any time.
static void take_turns(int number, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != number) {
    }
    atomic_store_explicit(&turn, (number + 1) % SPINNERS, memory_order_release);
  }
}

static void* spin(void* number) {
  take_turns((int)(long)number, 30);
  return NULL;
}

static double compute(long milliseconds) {
  struct timespec start, now;
  double x = 1;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
           milliseconds);
  return x;
}

static void* compute_then_wait(void* unused) {
  for (int i = 0; i < 6; ++i) {
    EXPECT(compute(12) > 0);
    struct timespec left = {0, 0};
    EXPECT_EQ(nanosleep(&(struct timespec){0, 300000}, &left), 0);
    EXPECT_EQ(poll(NULL, 0, 1), 0);
  }
  return unused;
}

CASE(calls_after_long_computations_are_not_interrupted) {
  pthread_t spinners[SPINNERS], workers[4];
  start_all(workers, 4, compute_then_wait);
  start_all(spinners, SPINNERS, spin);
  join_all(spinners, SPINNERS);
  join_all(workers, 4);
}

static atomic_int seen[65];

static void count(int number) { atomic_fetch_add(&seen[number], 1); }

static void set_handler(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  EXPECT_EQ(sigaction(number, &action, NULL), 0);
}

CASE(every_real_time_signal_is_the_programs_own) {
  pthread_t spinners[SPINNERS];
  for (int s = SIGRTMIN; s <= SIGRTMAX; ++s) set_handler(s, count);
  start_all(spinners, SPINNERS, spin);
  for (int s = SIGRTMIN; s <= SIGRTMAX; ++s) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(raise(s), 0);
  }
  join_all(spinners, SPINNERS);
  for (int s = SIGRTMIN; s <= SIGRTMAX; ++s) {
    EXPECT_EQ(atomic_load(&seen[s]), 3);
    set_handler(s, SIG_DFL);
  }
}

CASE(dispositions_are_what_the_program_set) {
  for (int s = 1; s < SIGRTMIN; ++s) {
    struct sigaction action;
    if (s == 32 || s == 33 || s == SIGPIPE) continue;
    EXPECT_EQ(sigaction(s, NULL, &action), 0);
    EXPECT(action.sa_handler == SIG_DFL);
  }
}

static void* spin_with_all_blocked(void* number) {
  sigset_t all, pending, before;
  sigfillset(&all);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
  take_turns((int)(long)number, 2);
  EXPECT_EQ(sigpending(&pending), 0);
  for (int s = 1; s < 65; ++s) EXPECT(sigismember(&pending, s) != 1);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
  return NULL;
}

CASE(threads_that_block_all_signals_find_none_pending) {
  pthread_t spinners[SPINNERS];
  start_all(spinners, SPINNERS, spin_with_all_blocked);
  join_all(spinners, SPINNERS);
}

static void* spin_with_a_mask(void* number) {
  sigset_t mask, now;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
  take_turns((int)(long)number, 30);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
  for (int s = 1; s < 65; ++s) EXPECT_EQ(sigismember(&now, s) == 1, s == SIGUSR2);
  return NULL;
}

CASE(masks_are_what_the_threads_set) {
  pthread_t spinners[SPINNERS];
  start_all(spinners, SPINNERS, spin_with_a_mask);
  join_all(spinners, SPINNERS);
}

static atomic_int handled;

static void see_mask(int number) {
  sigset_t now;
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
  for (int s = 1; s < 65; ++s) EXPECT_EQ(sigismember(&now, s) == 1, s == number);
  atomic_fetch_add(&handled, 1);
}

static void* spin_on(void* unused) {
  while (!atomic_load_explicit(&stop_spinning, memory_order_acquire)) {
  }
  return unused;
}

// Handlers run in threads that wait by spinning, and find their mask.
CASE(handlers_run_in_spinning_threads) {
  pthread_t spinners[SPINNERS];
  set_handler(SIGUSR1, see_mask);
  start_all(spinners, SPINNERS, spin_on);
  for (int round = 1; round <= 20; ++round) {
    for (int i = 0; i < SPINNERS; ++i) EXPECT_EQ(pthread_kill(spinners[i], SIGUSR1), 0);
    while (atomic_load(&handled) < round * SPINNERS) sched_yield();
  }
  atomic_store(&stop_spinning, 1);
  join_all(spinners, SPINNERS);
  set_handler(SIGUSR1, SIG_DFL);
}

// A program that wants every signal there is gets each as often as it was sent, and no more.
CASE(a_program_that_handles_every_signal_sees_only_its_own) {
  pthread_t spinners[SPINNERS];
  for (int s = 1; s < 65; ++s) {
    atomic_store(&seen[s], 0);
    if (s == SIGKILL || s == SIGSTOP || (s > 31 && s < SIGRTMIN)) continue;
    set_handler(s, count);
  }
  start_all(spinners, SPINNERS, spin);
  EXPECT_EQ(raise(SIGURG), 0);
  EXPECT_EQ(raise(SIGRTMAX), 0);
  join_all(spinners, SPINNERS);
  for (int s = 1; s < 65; ++s)
    EXPECT_EQ(atomic_load(&seen[s]), s == SIGURG || s == SIGRTMAX ? 1 : 0);
}

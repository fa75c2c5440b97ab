// Sleeps: not shorter than asked for, interrupted with what remains, on every clock, and errors.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"
#include "handled.h"

static const struct timespec short_time = {0, SOON_MS * 1000000};
static pid_t blocker;

CASE(no_sleep_is_too_short) {
  struct timespec end = soon(CLOCK_MONOTONIC);
  errno = 4711;
  EXPECT_EQ(nanosleep(&short_time, NULL), 0);
  EXPECT(has_passed(CLOCK_MONOTONIC, end));
  end = soon(CLOCK_MONOTONIC);
  EXPECT_EQ(usleep(SOON_MS * 1000), 0);
  EXPECT(has_passed(CLOCK_MONOTONIC, end));
  end = in_ms(CLOCK_MONOTONIC, 1000);
  EXPECT_EQ(sleep(1), 0);
  EXPECT(has_passed(CLOCK_MONOTONIC, end));
  end = soon(CLOCK_MONOTONIC);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL), 0);
  EXPECT(has_passed(CLOCK_MONOTONIC, end));
  end = soon(CLOCK_REALTIME);
  EXPECT_EQ(clock_nanosleep(CLOCK_REALTIME, 0, &short_time, NULL), 0);
  EXPECT(has_passed(CLOCK_REALTIME, end));
  end = soon(CLOCK_BOOTTIME);
  EXPECT_EQ(clock_nanosleep(CLOCK_BOOTTIME, 0, &short_time, NULL), 0);
  EXPECT(has_passed(CLOCK_BOOTTIME, end));
  EXPECT_EQ(errno, 4711);
}

CASE(no_time_at_all) {
  struct timespec none = {0, 0};
  EXPECT_EQ(nanosleep(&none, NULL), 0);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL), 0);
  EXPECT_EQ(sleep(0), 0);
  EXPECT_EQ(usleep(0), 0);
}

CASE(absolute_times) {
  const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI};
  for (int i = 0; i < 4; ++i) {
    struct timespec at = soon(clocks[i]);
    EXPECT_EQ(clock_nanosleep(clocks[i], TIMER_ABSTIME, &at, NULL), 0);
    EXPECT(has_passed(clocks[i], at));
    EXPECT_EQ(clock_nanosleep(clocks[i], TIMER_ABSTIME, &at, NULL), 0);
    at.tv_sec = 0;
    EXPECT_EQ(clock_nanosleep(clocks[i], TIMER_ABSTIME, &at, NULL), 0);
  }
}

CASE(errors_are_told) {
  struct timespec bad = {0, 1000000000};
  for (int i = 0; i < 3; ++i) {
    if (i == 1) bad = (struct timespec){0, -1};
    if (i == 2) bad = (struct timespec){-1, 0};
    EXPECT_ERRNO(nanosleep(&bad, NULL), EINVAL);
    errno = 4711;  // clock_nanosleep returns its error
    EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
    EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &bad, NULL), EINVAL);
    EXPECT_EQ(errno, 4711);
  }
  EXPECT_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &short_time, NULL), EINVAL);
  EXPECT_EQ(clock_nanosleep(4711, 0, &short_time, NULL), EINVAL);
  const struct timespec* const nowhere = (const struct timespec*)8;
  EXPECT_ERRNO(nanosleep(nowhere, NULL), EFAULT);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, nowhere, NULL), EFAULT);
}

static struct timespec remaining;
static int result, error;

static void* in_nanosleep(void* unused) {
  struct timespec time = {300, 0};
  about_to_block(&blocker);
  result = nanosleep(&time, &remaining);
  error = errno;
  return unused;
}

static void* in_clock_nanosleep(void* unused) {
  struct timespec time = {300, 0};
  about_to_block(&blocker);
  error = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &remaining);
  result = error ? -1 : 0;
  return unused;
}

static void* in_absolute_sleep(void* unused) {
  struct timespec at = far_off(CLOCK_MONOTONIC);
  about_to_block(&blocker);
  error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, &remaining);
  result = error ? -1 : 0;
  return unused;
}

static void* in_sleep(void* unused) {
  about_to_block(&blocker);
  unsigned left = sleep(300);
  remaining = (struct timespec){left, 0};
  result = left ? -1 : 0;
  error = EINTR;
  return unused;
}

static void* in_usleep(void* unused) {
  about_to_block(&blocker);
  result = usleep(300000000);
  error = errno;
  remaining = (struct timespec){299, 0};
  return unused;
}

// Runs a sleep in a thread and sends signals until it has ended.
static void interrupt_sleep(void* (*body)(void*), int flags) {
  pthread_t thread;
  handle(count, flags);
  handled = 0;
  remaining = (struct timespec){4711, 0};
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
  wait_until_blocked(&blocker);
  do {
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    sched_yield();
  } while (pthread_tryjoin_np(thread, NULL) == EBUSY);
  EXPECT_EQ(result, -1);
  EXPECT_EQ(error, EINTR);
  EXPECT(n_handled() > 0);
}

CASE(a_handler_ends_the_sleep_and_tells_what_remains) {
  void* (*const relative[])(void*) = {in_nanosleep, in_clock_nanosleep, in_sleep, in_usleep};
  for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {  // sleeps are never restarted
    for (int i = 0; i < 4; ++i) {
      interrupt_sleep(relative[i], flags);
      EXPECT(remaining.tv_sec > 0 && remaining.tv_sec <= 300);
      EXPECT(remaining.tv_nsec >= 0 && remaining.tv_nsec < 1000000000);
    }
    interrupt_sleep(in_absolute_sleep, flags);
    EXPECT_EQ(remaining.tv_sec, 4711);  // untouched: the time was absolute
  }
}

enum { SLEEPERS = 20 };

static void* sleep_often(void* unused) {
  for (int i = 0; i < 10; ++i) {
    struct timespec time = {0, 1000000}, end = in_ms(CLOCK_MONOTONIC, 1);
    EXPECT_EQ(nanosleep(&time, NULL), 0);
    EXPECT(has_passed(CLOCK_MONOTONIC, end));
  }
  return unused;
}

CASE(many_sleep_at_once) {
  pthread_t threads[SLEEPERS];
  for (int i = 0; i < SLEEPERS; ++i) {
    EXPECT_EQ(pthread_create(&threads[i], NULL, sleep_often, NULL), 0);
  }
  for (int i = 0; i < SLEEPERS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

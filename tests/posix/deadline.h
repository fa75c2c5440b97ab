// Points in time for calls that take an absolute time. Checks only ever ask that a point has
// passed: how late a call returns is not for a test to say.
#pragma once

#include <time.h>

// Long enough to block for sure, short enough to wait for.
enum { SOON_MS = 20 };

__attribute__((unused)) static struct timespec now_on(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now;
}

// `ms` milliseconds from now, may be negative.
__attribute__((unused)) static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec at = now_on(clock);
  long long ns = at.tv_nsec + ms * 1000000LL;
  at.tv_sec += ns / 1000000000;
  at.tv_nsec = ns % 1000000000;
  if (at.tv_nsec < 0) {
    at.tv_nsec += 1000000000;
    --at.tv_sec;
  }
  return at;
}

__attribute__((unused)) static struct timespec soon(clockid_t clock) {
  return in_ms(clock, SOON_MS);
}

// Later than any test may take.
__attribute__((unused)) static struct timespec far_off(clockid_t clock) {
  return in_ms(clock, 300 * 1000);
}

// A time no clock shows: the nanoseconds are out of range.
__attribute__((unused)) static struct timespec malformed(clockid_t clock) {
  struct timespec at = in_ms(clock, 60 * 1000);
  at.tv_nsec = 1000000000;
  return at;
}

__attribute__((unused)) static int has_passed(clockid_t clock, struct timespec at) {
  struct timespec now = now_on(clock);
  return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

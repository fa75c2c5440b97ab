/* Every schedule, with chunks or without, signed and unsigned, up and down, to the ends of the
   types' ranges: each iteration is executed once. */
#include <limits.h>

#include "worksharing.h"

typedef unsigned long long ull;
typedef unsigned int uint;

#define LOOP(NAME, T, S, ...)                                                                  \
  static void NAME(struct log* log, T low, T high, S step, int down) {                         \
    long n;                                                                                    \
    n = high > low ? (long)(((ull)high - (ull)low - 1) / (ull)step + 1) : 0;                   \
    if (!down) {                                                                               \
      PRAGMA(omp for schedule(__VA_ARGS__))                                                    \
      for (T i = low; i < high; i += step) hit(log, (long)(((ull)i - (ull)low) / (ull)step));  \
    } else {                                                                                   \
      PRAGMA(omp for schedule(__VA_ARGS__))                                                    \
      for (T i = high; i > low; i -= step) hit(log, (long)(((ull)high - (ull)i) / (ull)step)); \
    }                                                                                          \
    check(log, #NAME, n, 1);                                                                   \
  }

static int chunk = 3;

#define LOOPS(T, S, NAME, DIRECTIONS)                              \
  LOOP(NAME##_static, T, S, static)                                \
  LOOP(NAME##_static_1, T, S, static, 1)                           \
  LOOP(NAME##_static_chunk, T, S, static, chunk)                   \
  LOOP(NAME##_dynamic, T, S, dynamic)                              \
  LOOP(NAME##_dynamic_chunk, T, S, dynamic, chunk)                 \
  LOOP(NAME##_monotonic, T, S, monotonic : dynamic, chunk)         \
  LOOP(NAME##_nonmonotonic, T, S, nonmonotonic : dynamic)          \
  LOOP(NAME##_guided, T, S, guided)                                \
  LOOP(NAME##_guided_chunk, T, S, guided, chunk)                   \
  LOOP(NAME##_guided_nm, T, S, nonmonotonic : guided, chunk)       \
  LOOP(NAME##_auto, T, S, auto)                                    \
  LOOP(NAME##_runtime, T, S, runtime)                              \
  LOOP(NAME##_runtime_m, T, S, monotonic : runtime)                \
  LOOP(NAME##_runtime_nm, T, S, nonmonotonic : runtime)            \
  static void NAME##_all(struct log* log, T low, T high, S step) { \
    for (int down = 0; down < DIRECTIONS; ++down) {                \
      NAME##_static(log, low, high, step, down);                   \
      NAME##_static_1(log, low, high, step, down);                 \
      NAME##_static_chunk(log, low, high, step, down);             \
      NAME##_dynamic(log, low, high, step, down);                  \
      NAME##_dynamic_chunk(log, low, high, step, down);            \
      NAME##_monotonic(log, low, high, step, down);                \
      NAME##_nonmonotonic(log, low, high, step, down);             \
      NAME##_guided(log, low, high, step, down);                   \
      NAME##_guided_chunk(log, low, high, step, down);             \
      NAME##_guided_nm(log, low, high, step, down);                \
      NAME##_auto(log, low, high, step, down);                     \
      NAME##_runtime(log, low, high, step, down);                  \
      NAME##_runtime_m(log, low, high, step, down);                \
      NAME##_runtime_nm(log, low, high, step, down);               \
    }                                                              \
  }

LOOPS(int, int, of_int, 2)
/* gcc 12 takes the step of an unsigned int that goes down for a large positive number. */
LOOPS(uint, int, of_uint, 1)
LOOPS(long, long, of_long, 2)
LOOPS(ull, long, of_ull, 2)

static void body(struct log* log) {
  of_int_all(log, 0, 100, 1);
  of_int_all(log, -50, 51, 7);
  of_int_all(log, 5, 5, 1);
  of_int_all(log, 5, 6, 1);
  of_int_all(log, INT_MIN + 10, INT_MIN + 40, 3);
  of_int_all(log, INT_MAX - 40, INT_MAX - 10, 3);
  of_uint_all(log, 1, 100, 1);
  of_uint_all(log, UINT_MAX - 40, UINT_MAX - 10, 3);
  of_uint_all(log, 1u << 30, 3u << 30, 1u << 26);
  of_long_all(log, 0, 100, 1);
  of_long_all(log, -1000, 1000, 33);
  of_long_all(log, LONG_MIN + 10, LONG_MIN + 40, 3);
  of_long_all(log, LONG_MAX - 40, LONG_MAX - 10, 3);
  of_long_all(log, -(1L << 40), 1L << 40, 1L << 36);
  of_ull_all(log, 0, 0, 1);
  of_ull_all(log, 7, 107, 2);
  of_ull_all(log, ULLONG_MAX - 40, ULLONG_MAX - 10, 3);
  of_ull_all(log, 1ull << 61, 7ull << 61, 1ull << 58);
}

int main() {
  everywhere(body);
  static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided,
                                      omp_sched_auto};
  for (int k = 0; k < 4; ++k)
    for (int size = 0; size < 9; size += 4) {
      omp_set_schedule(kinds[k], size);
      struct log* log = calloc(1, sizeof *log);
#pragma omp parallel num_threads(5)
      {
        of_int_runtime(log, 0, 200, 1, 0);
        of_long_runtime_m(log, 0, 200, 1, 1);
        of_ull_runtime_nm(log, 0, 200, 3, 0);
      }
      free(log);
    }
  return failures != 0;
}

/* Ordered regions are executed in the order of the iterations, also where some iterations have
 * none. */
#include "worksharing.h"

#define ORDERED(NAME, ...)                                                     \
  static void NAME(struct log* log) {                                          \
    PRAGMA(omp for ordered schedule(__VA_ARGS__))                              \
    for (int i = 0; i < 97; ++i) {                                             \
      hit(log, i);                                                             \
      PRAGMA(omp ordered) {                                                    \
        if (log->order++ != i) log->disorder++;                                \
      }                                                                        \
    }                                                                          \
    PRAGMA(omp single) {                                                       \
      if (log->disorder || log->order != 97) fail(#NAME, log->order);          \
    }                                                                          \
    check(log, #NAME, 97, 1);                                                  \
    PRAGMA(omp for ordered schedule(__VA_ARGS__))                              \
    for (long i = 300; i > 0; i -= 2) {                                        \
      hit(log, (300 - i) / 2);                                                 \
      if (i % 3 == 0) {                                                        \
        PRAGMA(omp ordered) {                                                  \
          if (300 - 6 * log->order++ != i) log->disorder++;                    \
        }                                                                      \
      }                                                                        \
    }                                                                          \
    PRAGMA(omp single) {                                                       \
      if (log->disorder || log->order != 50) fail(#NAME ", some", log->order); \
    }                                                                          \
    check(log, #NAME ", some", 150, 1);                                        \
  }

ORDERED(ordered_static, static)
ORDERED(ordered_static_1, static, 1)
ORDERED(ordered_static_4, static, 4)
ORDERED(ordered_dynamic, dynamic)
ORDERED(ordered_dynamic_3, dynamic, 3)
ORDERED(ordered_guided, guided)
ORDERED(ordered_runtime, runtime)
ORDERED(ordered_auto, auto)

static void ordered_unsigned(struct log* log) {
#pragma omp for ordered schedule(dynamic, 2)
  for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 50; ++i) {
    hit(log, (long)(i - (1ull << 63)));
#pragma omp ordered
    {
      if (log->order++ != (int)(i - (1ull << 63))) log->disorder++;
    }
  }
#pragma omp single
  {
    if (log->disorder || log->order != 50) fail("ordered, unsigned", log->order);
  }
  check(log, "ordered, unsigned", 50, 1);
}

static void body(struct log* log) {
  ordered_static(log);
  ordered_static_1(log);
  ordered_static_4(log);
  ordered_dynamic(log);
  ordered_dynamic_3(log);
  ordered_guided(log);
  ordered_runtime(log);
  ordered_auto(log);
  ordered_unsigned(log);
}

int main() {
  everywhere(body);
  int order = 0, disorder = 0;
#pragma omp parallel for ordered schedule(dynamic) num_threads(6)
  for (int i = 0; i < 100; ++i) {
#pragma omp ordered
    {
      if (order++ != i) disorder++;
    }
  }
  if (disorder) fail("ordered in a combined parallel loop", disorder);
  return failures != 0;
}

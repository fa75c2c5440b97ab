/* Loops distributed among the leagues of a teams region: each iteration is executed once. */
#include "worksharing.h"

static int hits[1000];

static void check_hits(const char* what, int n, int times) {
  for (int i = 0; i < 1000; ++i) {
    if (hits[i] != (i < n ? times : 0)) {
      fail(what, i);
      break;
    }
  }
  memset(hits, 0, sizeof hits);
}

static void count(int i) {
#pragma omp atomic
  hits[i]++;
}

#define DISTRIBUTE(WHAT, N, ...)           \
  PRAGMA(omp teams distribute __VA_ARGS__) \
  for (int i = 0; i < N; ++i) count(i);    \
  check_hits(WHAT, N, 1);

static void with(int teams, int threads) {
  DISTRIBUTE("distribute", 777, num_teams(teams))
  DISTRIBUTE("distribute, static", 5, num_teams(teams) dist_schedule(static))
  DISTRIBUTE("distribute, static with a chunk", 777, num_teams(teams) dist_schedule(static, 10))
  DISTRIBUTE("parallel for", 777, parallel for num_teams(teams) thread_limit(threads))
  DISTRIBUTE("parallel for, static with a chunk", 777,
             parallel for num_teams(teams) thread_limit(threads) schedule(static, 3))
  DISTRIBUTE("parallel for, dynamic", 777,
             parallel for num_teams(teams) thread_limit(threads) schedule(dynamic, 3))
  DISTRIBUTE("parallel for, guided, chunks for the leagues", 777,
             parallel for num_teams(teams) thread_limit(threads) schedule(guided)
             dist_schedule(static, 50))
  DISTRIBUTE("parallel for simd", 777,
             parallel for simd num_teams(teams) thread_limit(threads) schedule(static, 4))
  DISTRIBUTE("simd", 777, simd num_teams(teams))
}

int main() {
  with(1, 1);
  with(1, 5);
  with(3, 1);
  with(3, 4);
  with(10, 2);
  return failures != 0;
}

// Iterations are distributed over leagues and their members: each is executed once.
// reference: gcc
// reason: libomp says that it forms smaller teams
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { kSize = 1009 };
static int done[kSize];

static int check(const char* what) {
  for (int i = 0; i < kSize; ++i) {
    if (done[i] == 1) continue;
    printf("%s: iteration %d was executed %d times\n", what, i, done[i]);
    return 1;
  }
  memset(done, 0, sizeof done);
  return 0;
}

int main(void) {
  int sum = 0;
  for (int teams = 1; teams <= 8; teams += 3) {
#pragma omp teams num_teams(teams)
#pragma omp distribute
    for (int i = 0; i < kSize; ++i) done[i] += 1;
    if (check("distribute")) return 1;
#pragma omp teams distribute parallel for num_teams(teams) thread_limit(3)
    for (int i = 0; i < kSize; ++i) done[i] += 1;
    if (check("distribute parallel for")) return 1;
#pragma omp teams distribute parallel for num_teams(teams) dist_schedule(static, 7) \
    schedule(dynamic, 2)
    for (int i = 0; i < kSize; ++i) done[i] += 1;
    if (check("in chunks")) return 1;
#pragma omp target teams distribute parallel for num_teams(teams) map(tofrom : done) \
    reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < kSize; ++i) {
      done[i] += 1;
      sum += i;
    }
    if (check("on the target")) return 1;
  }
  if (sum == 3 * (kSize * (kSize - 1) / 2)) return 0;
  printf("the sum is %d\n", sum);
  return 1;
}

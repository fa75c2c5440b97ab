// teams on the host: leagues of the wanted size, each an initial team with regions of its own.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("line %d: %s does not hold\n", __LINE__, #condition); \
      exit(1);                                                   \
    }                                                            \
  } while (0)

int main(void) {
  int teams = 0, members = 0, seen[4] = {0};
  omp_set_num_threads(3);
#pragma omp teams num_teams(4) thread_limit(2) shared(teams, members, seen)
  {
    CHECK(omp_get_num_teams() <= 4 && omp_get_team_num() < omp_get_num_teams());
    CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0 && omp_get_num_threads() == 1);
    CHECK(!omp_in_parallel());
#pragma omp atomic
    teams += 1;
#pragma omp atomic
    seen[omp_get_team_num()] += 1;
#pragma omp parallel
    {
      CHECK(omp_get_num_threads() <= 2 && omp_get_level() == 1);
      CHECK(omp_get_num_teams() <= 4);
#pragma omp atomic
      members += 1;
    }
  }
  CHECK(teams >= 1 && teams <= 4);
  for (int i = 0; i < teams; ++i) CHECK(seen[i] == 1);
  CHECK(members >= teams && members <= 2 * teams);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
  int sizes = 0;
#pragma omp parallel
#pragma omp atomic
  sizes += 1;
  CHECK(sizes == 3);

  // What a league sets is its own.
#pragma omp teams num_teams(2)
  omp_set_num_threads(7);
  CHECK(omp_get_max_threads() == 3);
  return 0;
}

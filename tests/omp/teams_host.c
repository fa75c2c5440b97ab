// teams on the host: leagues of the wanted size, each an initial team with regions of its own.
// reference: gcc
// reason: libomp says that it forms smaller teams
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static int members, seen[4];

// What compilers do not let stand in a teams region itself.
static void in_league(void) {
  CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0 && omp_get_num_threads() == 1);
  CHECK(!omp_in_parallel());
#pragma omp atomic
  seen[omp_get_team_num()] += 1;
}
static void set_threads(void) { omp_set_num_threads(7); }

int main(void) {
  omp_set_num_threads(3);
#pragma omp teams num_teams(4) thread_limit(2)
  {
    CHECK(omp_get_num_teams() <= 4 && omp_get_team_num() < omp_get_num_teams());
    in_league();
#pragma omp parallel
    {
      CHECK(omp_get_num_threads() <= 2 && omp_get_level() == 1);
      CHECK(omp_get_num_teams() <= 4);
#pragma omp atomic
      members += 1;
    }
  }
  int teams = 0;
  while (teams < 4 && seen[teams]) ++teams;
  CHECK(teams >= 1);
  for (int i = 0; i < 4; ++i) CHECK(seen[i] == (i < teams));
  CHECK(members >= teams && members <= 2 * teams);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
  int sizes = 0;
#pragma omp parallel
  {
#pragma omp atomic
    sizes += 1;
  }
  CHECK(sizes == 3);

  // What a league sets is its own (libgomp's leagues share it).
#ifdef __clang__
#pragma omp teams num_teams(2)
  set_threads();
  CHECK(omp_get_max_threads() == 3);
#else
  (void)set_threads;
#endif
  return 0;
}

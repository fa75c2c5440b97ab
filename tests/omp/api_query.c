// Where a thread is: numbers, sizes and levels in nested regions, and of ancestors.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  omp_set_max_active_levels(8);
  omp_set_dynamic(0);
  CHECK(omp_get_level() == 0 && omp_get_active_level() == 0);
  CHECK(omp_get_thread_num() == 0 && omp_get_num_threads() == 1);
  CHECK(!omp_in_parallel() && !omp_in_final());
  CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(0) == 1);
  CHECK(omp_get_ancestor_thread_num(1) == -1 && omp_get_team_size(1) == -1);
  CHECK(omp_get_ancestor_thread_num(-1) == -1);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
  CHECK(omp_get_num_procs() >= 1 && omp_get_max_threads() >= 1);
  int seen = 0;
#pragma omp parallel num_threads(3)
  {
    int outer = omp_get_thread_num();
    CHECK(omp_get_num_threads() == 3 && outer < 3);
    CHECK(omp_in_parallel() && omp_get_level() == 1 && omp_get_active_level() == 1);
#pragma omp parallel num_threads(1)
    { CHECK(omp_get_level() == 2 && omp_get_active_level() == 1 && omp_get_num_threads() == 1); }
#pragma omp parallel num_threads(4)
    {
      CHECK(omp_get_num_threads() == 4 && omp_get_level() == 2 && omp_get_active_level() == 2);
      CHECK(omp_get_ancestor_thread_num(1) == outer);
      CHECK(omp_get_ancestor_thread_num(2) == omp_get_thread_num());
      CHECK(omp_get_ancestor_thread_num(0) == 0);
      CHECK(omp_get_team_size(0) == 1 && omp_get_team_size(1) == 3 && omp_get_team_size(2) == 4);
      CHECK(omp_get_team_size(3) == -1);
#pragma omp atomic
      seen += 1 << 4 * omp_get_thread_num();
    }
    CHECK(omp_get_thread_num() == outer);
  }
  CHECK(seen == 0x3333);
  double before = omp_get_wtime();
  CHECK(omp_get_wtime() >= before && omp_get_wtick() > 0 && omp_get_wtick() < 1);
  return 0;
}

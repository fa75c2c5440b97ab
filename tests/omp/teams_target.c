// Target regions run on the host, with copies of what is firstprivate.
// reference: gcc
// reason: libomp says that it forms smaller teams
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

struct big {
  char bytes[5000];
};

static int array[100];

int main(void) {
  int x = 3, on_host = 0, level = -1, count = 0;
  struct big big;
  memset(&big, 1, sizeof big);
  long double wide = 1.5L;
#pragma omp target map(tofrom : on_host, level, count) firstprivate(x, big, wide)
  {
    on_host = omp_is_initial_device();
    level = omp_get_level();
    count = big.bytes[4999] + x + (int)(2 * wide);
    x = 100;
    big.bytes[0] = 100;
    wide = 0;
  }
  CHECK(on_host && level == 0 && count == 7);
  CHECK(x == 3 && big.bytes[0] == 1 && wide == 1.5L);

#pragma omp target data map(tofrom : array)
  {
#pragma omp target
    for (int i = 0; i < 100; ++i) array[i] = i;
#pragma omp target update from(array)
  }
  CHECK(array[99] == 99);
#pragma omp target enter data map(to : array)
#pragma omp target teams num_teams(3) map(tofrom : count)
  {
    CHECK(omp_get_team_num() < omp_get_num_teams());
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      count += 1;
    }
  }
#pragma omp target exit data map(from : array)
  CHECK(count > 7 && count <= 13);

  // From within a region: each member has a target region of its own.
  int levels = 0, members = 0;
#pragma omp parallel num_threads(4)
  {
    int mine = 0, size = 0;
#pragma omp target map(tofrom : mine, size)
    {
      mine = omp_get_thread_num() + omp_get_num_threads();
#pragma omp parallel num_threads(3)
      {
#pragma omp atomic
        size += 1;
      }
    }
#pragma omp atomic
    members += size;
#pragma omp atomic
    levels += omp_get_level();
  }
  CHECK(levels == 4 && members >= 4 && members <= 12);

#ifndef __clang__  // its region is a call like any other
  // A region begins with the control variables the program began with, and keeps its changes.
  int before = omp_get_max_threads(), inside = 0, inside_dynamic = 1;
  omp_set_num_threads(before + 3);
  omp_set_dynamic(1);
#pragma omp target map(tofrom : inside, inside_dynamic)
  {
    inside = omp_get_max_threads();
    inside_dynamic = omp_get_dynamic();
    omp_set_num_threads(before + 5);
    omp_set_dynamic(0);
  }
  CHECK(inside == before && !inside_dynamic);
  CHECK(omp_get_max_threads() == before + 3 && omp_get_dynamic());
#endif
  return 0;
}

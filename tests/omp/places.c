// Where members are among the places, and how these are divided for the regions inside.
// env: OMP_PLACES={0},{0},{0},{0},{0},{0}
// env: OMP_PROC_BIND=close
// env: OMP_MAX_ACTIVE_LEVELS=2
// threads: 2
// flags: -Wno-deprecated
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { kMost = 12 };
struct Where {
  int place, first, count;
} seen[kMost];

static struct Where here(void) {
  int places[6];
  struct Where own = {omp_get_place_num(), -1, omp_get_partition_num_places()};
  CHECK(own.count >= 1 && own.count <= 6);
  omp_get_partition_place_nums(places);
  own.first = places[0];
  for (int i = 0; i < own.count; ++i) CHECK(places[i] == own.first + i);
  return own;
}

static void must_be(const char* what, int member, int place, int first, int count) {
  struct Where* own = &seen[member];
  if (own->place == place && own->first == first && own->count == count) return;
  printf("%s: member %d is at %d in %d..%d, not at %d in %d..%d\n", what, member, own->place,
         own->first, own->first + own->count - 1, place, first, first + count - 1);
  exit(1);
}

int main(void) {
  struct Where initial = here();
  CHECK(initial.place == 0 && initial.first == 0 && initial.count == 6);

#pragma omp parallel num_threads(4)
  seen[omp_get_thread_num()] = here();
  for (int i = 0; i < 4; ++i) must_be("close by OMP_PROC_BIND", i, i, 0, 6);

#pragma omp parallel num_threads(12) proc_bind(close)
  seen[omp_get_thread_num()] = here();
  for (int i = 0; i < 12; ++i) must_be("close, two each", i, i / 2, 0, 6);

#pragma omp parallel num_threads(5) proc_bind(master)  // clang-14 knows no primary
  seen[omp_get_thread_num()] = here();
  for (int i = 0; i < 5; ++i) must_be("primary", i, 0, 0, 6);

#pragma omp parallel num_threads(3) proc_bind(spread)
  seen[omp_get_thread_num()] = here();
  for (int i = 0; i < 3; ++i) must_be("spread", i, 2 * i, 2 * i, 2);

#pragma omp parallel num_threads(12) proc_bind(spread)
  seen[omp_get_thread_num()] = here();
  for (int i = 0; i < 12; ++i) must_be("spread, two each", i, i / 2, i / 2, 1);

#pragma omp parallel num_threads(2) proc_bind(spread)
  {
    int outer = omp_get_thread_num();
#pragma omp parallel num_threads(3) proc_bind(close)
    seen[3 * outer + omp_get_thread_num()] = here();
  }
  for (int i = 0; i < 6; ++i) must_be("close in spread", i, i, i / 3 * 3, 3);

    // Of the places around the opener's, in a circle.
#pragma omp parallel num_threads(4) proc_bind(close)
  if (omp_get_thread_num() == 3) {
#pragma omp parallel num_threads(6) proc_bind(close)
    seen[omp_get_thread_num()] = here();
  }
  for (int i = 0; i < 6; ++i) must_be("close from the fourth place on", i, (3 + i) % 6, 0, 6);

  CHECK(omp_get_place_num() == 0 && omp_get_partition_num_places() == 6);
  return 0;
}

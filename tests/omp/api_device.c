// There is the host and nothing else: the API of devices works on host memory.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

// Libomp leaves these to libomptarget, which a program without devices need not have.
#pragma weak omp_target_alloc
#pragma weak omp_target_free
#pragma weak omp_target_memcpy
#pragma weak omp_target_memcpy_rect
#pragma weak omp_target_is_present

int main(void) {
  int host = omp_get_initial_device();
  CHECK(omp_get_num_devices() == 0);
  CHECK(omp_is_initial_device());
  CHECK(omp_get_device_num() == host);
  if (!omp_target_alloc) return 0;
  char* p = omp_target_alloc(1000, host);
  CHECK(p);
  char text[] = "0123456789";
  CHECK(omp_target_memcpy(p, text, 5, 2, 3, host, host) == 0);
  CHECK(memcmp(p + 2, "34567", 5) == 0);
  CHECK(omp_target_is_present(p, host));
  omp_target_free(p, host);
  int from[4][5], to[3][4];
  for (int i = 0; i < 20; ++i) from[i / 5][i % 5] = i;
  memset(to, 0, sizeof to);
  size_t volume[] = {2, 3}, to_at[] = {1, 1}, from_at[] = {1, 2}, to_size[] = {3, 4},
         from_size[] = {4, 5};
  CHECK(omp_target_memcpy_rect(to, from, sizeof(int), 2, volume, to_at, from_at, to_size, from_size,
                               host, host) == 0);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) CHECK(to[1 + i][1 + k] == from[1 + i][2 + k]);
  CHECK(to[0][0] == 0 && to[1][0] == 0);
  CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
  int after = 0;
#pragma omp parallel num_threads(3)
#pragma omp atomic
  after += 1;
  CHECK(after == 3);
  return 0;
}

/* What a piece of memory has of its allocator's pool counts as free when it is resized, and stays
   its own when that fails. */
// reference: gcc
// reason: libomp counts both the old piece and the new one
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  omp_alloctrait_t pool[] = {{omp_atk_pool_size, 8192}, {omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 2, pool);
  CHECK(a != omp_null_allocator);
  char* first = omp_alloc(3000, a);
  CHECK(first);
  first[2999] = 7;
  CHECK((first = omp_realloc(first, 6000, a, a)));
  CHECK((first = omp_realloc(first, 5000, omp_null_allocator, omp_null_allocator)));
  CHECK(first[2999] == 7);
  char* beside = omp_alloc(1000, a);
  CHECK(beside);
  beside[999] = 8;
  CHECK(omp_realloc(beside, 6000, a, a) == NULL);
  CHECK((first = omp_realloc(first, 3000, a, a)));
  CHECK((beside = omp_realloc(beside, 4000, a, a)));
  CHECK(first[2999] == 7 && beside[999] == 8);
  // Into another allocator: the pool gets all of it back.
  CHECK((first = omp_realloc(first, 3000, omp_default_mem_alloc, a)));
  CHECK((beside = omp_realloc(beside, 7000, a, a)));
  omp_free(beside, a);
  CHECK((beside = omp_alloc(7000, a)));
  omp_free(beside, a);
  omp_free(first, omp_default_mem_alloc);
  omp_destroy_allocator(a);
  return 0;
}

// Allocators: traits, pools that run out, fallbacks, and what each routine returns.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int aligned(const void* p, uintptr_t to) { return (uintptr_t)p % to == 0; }

int main(void) {
  CHECK(omp_get_default_allocator() == omp_default_mem_alloc);
  char* p = omp_alloc(100, omp_default_mem_alloc);
  CHECK(p);
  memset(p, 7, 100);
  p = omp_realloc(p, 100000, omp_default_mem_alloc, omp_default_mem_alloc);
  CHECK(p && p[0] == 7 && p[99] == 7);
  omp_free(p, omp_null_allocator);
  CHECK(omp_alloc(0, omp_default_mem_alloc) == NULL);
  omp_free(NULL, omp_null_allocator);

  p = omp_calloc(1000, 3, omp_null_allocator);
  for (int i = 0; i < 3000; ++i) CHECK(p[i] == 0);
  omp_free(p, omp_default_mem_alloc);
  p = omp_aligned_alloc(4096, 1000, omp_default_mem_alloc);
  CHECK(p && aligned(p, 4096));
  omp_free(p, omp_default_mem_alloc);
  p = omp_aligned_calloc(256, 10, 10, omp_default_mem_alloc);
  CHECK(p && aligned(p, 256) && p[99] == 0);
  omp_free(p, omp_default_mem_alloc);

  omp_alloctrait_t small[] = {
      {omp_atk_alignment, 128}, {omp_atk_pool_size, 8192}, {omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 3, small);
  CHECK(a != omp_null_allocator);
  char* first = omp_alloc(3000, a);
  CHECK(first && aligned(first, 128));
  CHECK(omp_alloc(8000, a) == NULL);
  omp_free(first, a);
  first = omp_alloc(3000, a);
  CHECK(first);

  omp_alloctrait_t falls_back[] = {{omp_atk_pool_size, 4096},
                                   {omp_atk_fallback, omp_atv_allocator_fb},
                                   {omp_atk_fb_data, (omp_uintptr_t)omp_default_mem_alloc}};
  omp_allocator_handle_t b = omp_init_allocator(omp_default_mem_space, 3, falls_back);
  CHECK(b != omp_null_allocator);
  char* second = omp_alloc(50000, b);
  CHECK(second);
  memset(second, 1, 50000);
  omp_free(second, b);
  omp_free(first, omp_null_allocator);

  omp_set_default_allocator(b);
  CHECK(omp_get_default_allocator() == b);
  p = omp_alloc(100, omp_null_allocator);
  CHECK(p);
  omp_free(p, omp_null_allocator);
  omp_set_default_allocator(omp_default_mem_alloc);
  omp_destroy_allocator(a);
  omp_destroy_allocator(b);

#ifndef __clang__  // libomp takes it for a mistake of its own
  omp_alloctrait_t wrong[] = {{omp_atk_alignment, 3}};
  CHECK(omp_init_allocator(omp_default_mem_space, 1, wrong) == omp_null_allocator);
#endif

  // A pool used by many keeps its books.
  omp_alloctrait_t pool[] = {{omp_atk_pool_size, 1 << 20}, {omp_atk_fallback, omp_atv_null_fb}};
  a = omp_init_allocator(omp_default_mem_space, 2, pool);
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 1000; ++i) {
    char* mine = omp_alloc(1000, a);
    CHECK(mine);
    memset(mine, i, 1000);
    omp_free(mine, a);
  }
  omp_destroy_allocator(a);
  return 0;
}

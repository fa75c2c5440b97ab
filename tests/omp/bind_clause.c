// What omp_get_proc_bind() says in regions with a proc_bind clause and in those inside.
// compilers: gcc
// env: OMP_PROC_BIND=true
// reason: libomp's regions do not hand the clause on
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  CHECK(omp_get_proc_bind() == omp_proc_bind_true);
#pragma omp parallel
  CHECK(omp_get_proc_bind() == omp_proc_bind_true);
#pragma omp parallel num_threads(3) proc_bind(spread)
  {
    CHECK(omp_get_proc_bind() == omp_proc_bind_spread);
#pragma omp parallel if (0)
    CHECK(omp_get_proc_bind() == omp_proc_bind_spread);
#pragma omp parallel if (0) proc_bind(close)
    CHECK(omp_get_proc_bind() == omp_proc_bind_close);
  }
#pragma omp parallel for proc_bind(primary)
  for (int i = 0; i < 10; ++i) CHECK(omp_get_proc_bind() == omp_proc_bind_primary);
  CHECK(omp_get_proc_bind() == omp_proc_bind_true);
  return 0;
}

// Inner library: the pthread build of OpenBLAS.
#include <cblas.h>

#include "inner.h"

void set_inner_width(int threads) { openblas_set_num_threads(threads); }

int inner_width() { return openblas_get_num_threads(); }

const char* inner_library_name() { return "openblas-pthread"; }

std::string inner_library_problem() {
  constexpr int kPthreadBuild = 1;  // 0: sequential, 2: OpenMP
  if (openblas_get_parallel() == kPthreadBuild) return "";
  return std::string("the OpenBLAS found is not the pthread build: ") + openblas_get_config();
}

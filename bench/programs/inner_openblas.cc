// Inner library: OpenBLAS. INNER_NAME and PARALLEL say which of its builds is linked.
#include <cblas.h>

#include "inner.h"

void set_inner_width(int threads) { openblas_set_num_threads(threads); }

int inner_width() { return openblas_get_num_threads(); }

const char* inner_library_name() { return INNER_NAME; }

std::string inner_library_problem() {
  // 0: sequential, 1: pthread, 2: OpenMP
  if (openblas_get_parallel() == PARALLEL) return "";
  return std::string("the OpenBLAS found is not " INNER_NAME ": ") + openblas_get_config();
}

// Stands in for the task layer as long as it knows no reductions.
#include "omp/reduction.h"

#include <cstdlib>

#include "ult/kernel.h"

namespace roost::omp {

__attribute__((weak)) void register_task_reductions(std::uintptr_t*, const std::uintptr_t*) {
  static constexpr char kText[] =
      "roost: this build of the OpenMP library has no task reductions in worksharing constructs\n";
  ult::kernel::write_error(kText, sizeof kText - 1);
  std::abort();
}

}  // namespace roost::omp

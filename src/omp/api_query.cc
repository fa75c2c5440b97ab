// omp_* functions that tell where the caller is.
#include "omp/export.h"
#include "omp/team.h"

namespace roost::omp {

extern "C" {

ROOST_EXPORT int omp_get_thread_num() { return static_cast<int>(self().number); }
ROOST_EXPORT int omp_get_num_threads() { return static_cast<int>(self().team->size); }
ROOST_EXPORT int omp_get_level() { return static_cast<int>(self().team->level); }
ROOST_EXPORT int omp_get_active_level() { return static_cast<int>(self().team->active_level); }
ROOST_EXPORT int omp_in_parallel() { return self().team->active_level > 0; }

}  // extern "C"
}  // namespace roost::omp

// The deques of explicit tasks.
#include "omp/task_pool.h"

namespace roost::omp {

constinit std::atomic<bool> tasks_in_use{false};

bool run_task(Member&) { return false; }

}  // namespace roost::omp

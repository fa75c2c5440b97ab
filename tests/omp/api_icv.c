// Internal control variables belong to tasks: what a thread sets is its own, and its regions'.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  omp_set_max_active_levels(4);
  CHECK(omp_get_max_active_levels() == 4);
  CHECK(omp_get_supported_active_levels() >= 4);
  omp_set_dynamic(1);
  CHECK(omp_get_dynamic());
  omp_set_dynamic(0);
  CHECK(!omp_get_dynamic());

  omp_sched_t kind;
  int chunk;
  omp_set_schedule(omp_sched_dynamic, 7);
  omp_get_schedule(&kind, &chunk);
  CHECK((kind & 0x7fffffff) == omp_sched_dynamic && chunk == 7);
  omp_set_schedule(omp_sched_static, 0);
  omp_get_schedule(&kind, &chunk);
  CHECK((kind & 0x7fffffff) == omp_sched_static);
  omp_set_schedule(omp_sched_guided, 3);

  omp_set_num_threads(3);
  CHECK(omp_get_max_threads() == 3);
  int count = 0;
#pragma omp parallel
  {
    CHECK(omp_get_num_threads() == 3 && omp_get_max_threads() == 3);
    omp_set_num_threads(2 + omp_get_thread_num());
    omp_set_schedule(omp_sched_dynamic, 1 + omp_get_thread_num());
#pragma omp barrier
    CHECK(omp_get_max_threads() == 2 + omp_get_thread_num());
    omp_sched_t mine;
    int my_chunk;
    omp_get_schedule(&mine, &my_chunk);
    CHECK(my_chunk == 1 + omp_get_thread_num());
#pragma omp parallel
    {
#pragma omp atomic
      count += 1;
    }
  }
  CHECK(count == 2 + 3 + 4);
  CHECK(omp_get_max_threads() == 3);
  omp_get_schedule(&kind, &chunk);
  CHECK((kind & 0x7fffffff) == omp_sched_guided && chunk == 3);

  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(2)
    CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2);
  }
  omp_set_max_active_levels(0);
#pragma omp parallel num_threads(2)
  CHECK(omp_get_num_threads() == 1 && !omp_in_parallel());

  omp_set_default_device(0);
  CHECK(omp_get_default_device() == 0);
  CHECK(omp_get_thread_limit() > 0 && omp_get_max_task_priority() >= 0);
  CHECK(omp_get_proc_bind() >= omp_proc_bind_false);
  CHECK(!omp_get_cancellation());
  return 0;
}

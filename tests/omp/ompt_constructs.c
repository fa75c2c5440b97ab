// A tool in the program sees each construct once for each member, in order (ompt_events.h).
//
// header: omp-tools.h
// flags: -rdynamic
// threads: 1 2 7
// env: ROOST_OMP_LEVELS=0
// reference: clang
// reason: libgomp has no tools; the executable must show it has one, as only libomp asks for it
#include <omp.h>

#include "ompt_events.h"

enum { ROUNDS = 3, TASKS = 5 };

static unsigned long n;          // members of the outer regions
static int sum, locked, nested;  // by the critical region, and by each lock

static void one_round(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest_lock;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest_lock);
#pragma omp parallel shared(lock, nest_lock)
  {
#pragma omp barrier
#pragma omp critical(named)
    ++sum;
#pragma omp single
    {
      for (int i = 0; i < TASKS; ++i) {
#pragma omp task
        {
#pragma omp critical(named)
          ++sum;
        }
      }
#pragma omp taskwait
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 20; ++i) {
#pragma omp critical(named)
      ++sum;
    }
#pragma omp taskgroup
    {
#pragma omp task
      {
#pragma omp task
        {
#pragma omp critical(named)
          ++sum;
        }
      }
    }
    omp_set_lock(&lock);
    ++locked;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest_lock);
    omp_set_nest_lock(&nest_lock);
    ++nested;
    omp_unset_nest_lock(&nest_lock);
    omp_unset_nest_lock(&nest_lock);
#pragma omp parallel num_threads(2)
    {
#pragma omp critical(named)
      ++sum;
    }
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest_lock);
}

static void events_expected(void) {
  unsigned long inner = ROUNDS * n;  // members of all outer regions, and inner regions
  const int begin = ompt_scope_begin;
  must_be("regions", count_of(ompt_callback_parallel_begin, -1, -1), ROUNDS + inner);
  must_be("ends of regions", count_of(ompt_callback_parallel_end, -1, -1), ROUNDS + inner);
  must_be("members", count_of(ompt_callback_implicit_task, ompt_task_implicit, begin), 3 * inner);
  must_be("initial tasks", count_of(ompt_callback_implicit_task, ompt_task_initial, begin), 1);
  must_be("tasks", count_of(ompt_callback_task_create, -1, -1), ROUNDS * TASKS + 2 * inner);
  must_be("complete tasks", count_of(ompt_callback_task_schedule, ompt_task_complete, -1),
          ROUNDS * TASKS + 2 * inner);
  must_be("taskwaits", count_of(ompt_callback_sync_region, ompt_sync_region_taskwait, begin),
          ROUNDS);
  must_be("taskgroups", count_of(ompt_callback_sync_region, ompt_sync_region_taskgroup, begin),
          inner);
  // Three in the region, and at the ends of both.
  if (ours || n > 1) must_be("barriers", barriers(), 3 * inner + inner + 2 * inner);
  must_be("single, by who executes it",
          count_of(ompt_callback_work, ompt_work_single_executor, begin), ROUNDS);
  must_be("single, by the others", count_of(ompt_callback_work, ompt_work_single_other, begin),
          ROUNDS * (n - 1));
  if (ours) {
    must_be("loops", loops_of_all_schedules(), inner);
    must_be("barriers at regions' ends",
            count_of(ompt_callback_sync_region, ompt_sync_region_barrier_implicit_parallel, begin),
            3 * inner);
  }
  unsigned long critical = inner + ROUNDS * TASKS + 20 * ROUNDS + inner + 2 * inner;
  const int mutexes[] = {ompt_callback_mutex_acquire, ompt_callback_mutex_acquired,
                         ompt_callback_mutex_released};
  for (int i = 0; i < 3; ++i) {
    must_be("critical regions", count_of(mutexes[i], ompt_mutex_critical, -1), critical);
    must_be("locks", count_of(mutexes[i], ompt_mutex_lock, -1), inner);
  }
  must_be("nestable locks taken", count_of(ompt_callback_mutex_acquired, ompt_mutex_nest_lock, -1),
          inner);
  must_be("nestable locks taken again", count_of(ompt_callback_nest_lock, -1, begin), inner);
  must_be("nestable locks kept", count_of(ompt_callback_nest_lock, -1, ompt_scope_end), inner);
  must_be("nestable locks given back",
          count_of(ompt_callback_mutex_released, ompt_mutex_nest_lock, -1), inner);
  must_be("locks initialised", count_of(ompt_callback_lock_init, -1, -1), 2 * ROUNDS);
  must_be("locks destroyed", count_of(ompt_callback_lock_destroy, -1, -1), 2 * ROUNDS);
  must_be("the sum", (unsigned long)sum, critical);
  must_be("the sum under the lock", (unsigned long)locked, inner);
  must_be("the sum under the nestable lock", (unsigned long)nested, inner);
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(4);
  n = (unsigned long)omp_get_max_threads();
  for (int i = 0; i < ROUNDS; ++i) one_round();
  return leave_tool();
}

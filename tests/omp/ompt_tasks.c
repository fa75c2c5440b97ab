// What a tool sees of explicit tasks: dependences and their kinds, detached tasks, taskwait with
// dependences, flags, taskloops.
//
// header: omp-tools.h
// flags: -rdynamic
// threads: 1 2 7
// reference: no
// reason: libgomp has no tools, and LLVM's version 14 has less of this
#include <omp.h>

#include "ompt_events.h"

// clang before 16 calls the same function for a taskwait and for an undeferred task.
#if defined __clang__ && __clang_major__ < 16
enum { TASKWAITS = 0 };
#else
enum { TASKWAITS = 1 };
#endif
enum { CHAIN = 10, PARTS = 6 };

static int x, y, sum;
static atomic_int chunks, iterations;

// Siblings that follow each other by one address, then two that read.
static void chain(void) {
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < CHAIN; ++i) {
#pragma omp task depend(inout : x)
      {
#pragma omp atomic
        ++sum;
      }
    }
#pragma omp task depend(in : x)
    {
#pragma omp atomic
      ++sum;
    }
#pragma omp task depend(in : x) depend(mutexinoutset : y)
    {
#pragma omp atomic
      ++sum;
    }
#pragma omp taskwait depend(in : x)
  }
}

// One is fulfilled in its body, one at about its end.
static void detached(void) {
  omp_event_handle_t early, other;
  int begun = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task detach(early)
    omp_fulfill_event(early);
#pragma omp task detach(other) shared(begun)
    {
#pragma omp atomic write
      begun = 1;
    }
    int seen = 0;
    while (!seen) {
#pragma omp taskyield
#pragma omp atomic read
      seen = begun;
    }
    omp_fulfill_event(other);
#pragma omp taskwait
  }
}

static void on_dispatch(ompt_data_t* parallel, ompt_data_t* task, ompt_dispatch_t kind,
                        ompt_data_t instance) {
  const struct { uint64_t start, count; }* chunk = instance.ptr;
  must_be("the kind of chunk", kind, TASKLOOP_CHUNK);
  must_be("whose chunk it is", parallel->value != 0 && task->value != 0, 1);
  must_be("the chunk is of the loop", chunk->start + chunk->count <= 100, 1);
  atomic_fetch_add(&chunks, 1);
  atomic_fetch_add(&iterations, (int)chunk->count);
}

static void kinds(void) {
#pragma omp task if (0)
  sum += 0;
#pragma omp task final(1)
  sum += 0;
#pragma omp task untied
  sum += 0;
}

static void loop(void) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop num_tasks(PARTS)
  for (int i = 0; i < 100; ++i) {
#pragma omp atomic
    ++sum;
  }
}

static unsigned long with_flags(int flags) {
  unsigned long count = 0;
  for (int i = 0; i < n_events; ++i)
    count += events[i].what == ompt_callback_task_create && (events[i].kind & flags) == flags;
  return count;
}

static void events_expected(void) {
  const int schedule = ompt_callback_task_schedule;
  const unsigned long tasks = CHAIN + 2 + 2 + 3 + PARTS;
  must_be("tasks", count_of(ompt_callback_task_create, -1, -1), tasks + TASKWAITS);
  must_be("of them, taskwaits", with_flags(ompt_task_taskwait), TASKWAITS);
  must_be("bodies that are over",
          count_of(schedule, ompt_task_complete, -1) + count_of(schedule, ompt_task_detach, -1),
          tasks);
  must_be("taskwaits over", count_of(schedule, ompt_taskwait_complete, -1), TASKWAITS);
  unsigned long early = count_of(schedule, ompt_task_early_fulfill, -1);
  must_be("an event fulfilled in its task", early >= 1, 1);
  must_be("events fulfilled", early + count_of(schedule, ompt_task_late_fulfill, -1), 2);
  // Those outside all regions, and in regions of one member those that wait for nothing.
  must_be("undeferred", with_flags(ompt_task_undeferred),
          3 + TASKWAITS + (omp_get_max_threads() == 1 ? PARTS : 0));
  must_be("final", with_flags(ompt_task_final), 1);
  must_be("untied", with_flags(ompt_task_untied), 1);
  must_be("dependences of kind inout",
          count_of(ompt_callback_dependences, ompt_dependence_type_inout, -1), CHAIN);
  must_be("of kind in", count_of(ompt_callback_dependences, ompt_dependence_type_in, -1),
          2 + TASKWAITS);
  must_be("of kind mutexinoutset",
          count_of(ompt_callback_dependences, ompt_dependence_type_mutexinoutset, -1), 1);
  // A task follows its predecessor, unless that is complete.
  must_be("edges", count_of(ompt_callback_task_dependence, -1, -1) <= CHAIN - 1 + 2, 1);
  if (omp_get_max_threads() == 1)
    must_be("edges of tasks that wait for none", count_of(ompt_callback_task_dependence, -1, -1),
            0);
  must_be("taskloops", count_of(ompt_callback_work, ompt_work_taskloop, ompt_scope_begin), 1);
  must_be("chunks of the taskloop", (unsigned long)chunks, PARTS);
  must_be("iterations in them", (unsigned long)iterations, 100);
  must_be("the sum", (unsigned long)sum, CHAIN + 2 + 100);
}

int main(void) {
  omp_set_dynamic(0);
  omp_get_max_threads();
  WATCH(dispatch, ompt_set_sometimes);
  chain();
  detached();
  kinds();
  loop();
  return leave_tool();
}

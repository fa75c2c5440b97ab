// What a tool sees of worksharing, masked regions, reductions, flushes, cancellation and teams, as
// far as the compiler tells the library of them: clang of all, gcc of dynamic loops and sections.
//
// header: omp-tools.h
// flags: -rdynamic
// threads: 1 2 7
// env: OMP_CANCELLATION=true ROOST_OMP_LEVELS=0
// reference: no
// reason: libgomp has no tools, and LLVM's version 14 has less of this
#include <omp.h>

#include "ompt_events.h"

enum { TRIP = 100, CHUNK = 10, SECTIONS = 3 };

#ifdef __clang__
enum { CLANG = 1 };
#else
enum { CLANG = 0 };
#endif

static unsigned long n;
static int sum;
static atomic_int chunks, iterations, distributed, flushes;

static void on_dispatch(ompt_data_t* parallel, ompt_data_t* task, ompt_dispatch_t kind,
                        ompt_data_t instance) {
  // A chunk, which LLVM's header of version 14 has no name for: where it begins, and its length.
  const struct { uint64_t start, count; }* chunk = instance.ptr;
  if (kind == ompt_dispatch_section) return;
  if (kind == DISTRIBUTE_CHUNK) {
    must_be("of the one team", chunk->start, 0);
    must_be("all iterations", chunk->count, TRIP);
    atomic_fetch_add(&distributed, 1);
    return;
  }
  must_be("the kind", kind, LOOP_CHUNK);
  must_be("a chunk is of the loop", chunk->start + chunk->count <= TRIP, 1);
  must_be("whose work it is", parallel->value != 0 && task->value != 0, 1);
  atomic_fetch_add(&chunks, 1);
  atomic_fetch_add(&iterations, (int)chunk->count);
}
static void on_reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                         ompt_data_t* parallel, ompt_data_t* task, const void* code) {
  (void)parallel;
  scope(ompt_callback_reduction, kind, endpoint, task, code);
}
static void on_flush(ompt_data_t* thread, const void* code) {
  must_be("who flushes, and where", thread != NULL && code != NULL, 1);
  atomic_fetch_add(&flushes, 1);
}
static void on_cancel(ompt_data_t* task, int flags, const void* code) {
  scope(ompt_callback_cancel, flags, 0, task, code);
}

static void loops(void) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int i = 0; i < TRIP; ++i) {
#pragma omp atomic
      ++sum;
    }
#pragma omp for schedule(dynamic, CHUNK)
    for (int i = 0; i < TRIP; ++i) {
#pragma omp atomic
      ++sum;
    }
#pragma omp sections
    {
#pragma omp section
        {
#pragma omp atomic
            ++sum;
  }
#pragma omp section
  {
#pragma omp atomic
    ++sum;
  }
#pragma omp section
  {
#pragma omp atomic
    ++sum;
  }
}
#pragma omp master
{
#pragma omp atomic
  ++sum;
}
#pragma omp flush
}
}

static void reductions(void) {
  int one = 0, two = 0, three = 0;
#pragma omp parallel reduction(+ : one, two, three)
  {
    ++one;
    ++two;
    ++three;
  }
  must_be("what is reduced", (unsigned long)(one + two + three), 3 * n);
}

static void cancelled(void) {
#pragma omp parallel
  {
    if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
    }
#pragma omp barrier
  }
}

static void teams(void) {
#pragma omp teams num_teams(2)
#pragma omp parallel num_threads(2)
  {
#pragma omp atomic
    ++sum;
  }
#pragma omp teams num_teams(1)
#pragma omp distribute
  for (int i = 0; i < TRIP; ++i) {
#pragma omp atomic
    ++sum;
  }
}

static void events_expected(void) {
  const int begin = ompt_scope_begin, work = ompt_callback_work;
  must_be("static loops", count_of(work, LOOP_STATIC, begin), CLANG ? n : 0);
  must_be("dynamic loops", count_of(work, LOOP_DYNAMIC, begin), n);
  must_be("loops of unknown schedule", count_of(work, ompt_work_loop, begin), 0);
  must_be("distribute", count_of(work, ompt_work_distribute, begin), CLANG);
  must_be("its chunks", (unsigned long)distributed, CLANG);
  must_be("sections", count_of(work, ompt_work_sections, begin), n);
  must_be("masked", count_of(ompt_callback_masked, -1, begin), CLANG);
  must_be("reductions", count_of(ompt_callback_reduction, -1, begin), CLANG ? n : 0);
  must_be("their ends", count_of(ompt_callback_reduction, -1, ompt_scope_end), CLANG ? n : 0);
  must_be("flushes", (unsigned long)flushes, CLANG ? n : 0);
  must_be("cancellations",
          count_of(ompt_callback_cancel, ompt_cancel_parallel | ompt_cancel_activated, 0), 1);
  // Of the dynamic loop, of which a member alone has all at once, and clang's of the static one.
  must_be("chunks", (unsigned long)chunks, (n > 1 ? TRIP / CHUNK : 1) + (CLANG ? n : 0));
  must_be("iterations in them", (unsigned long)iterations, (CLANG ? 2 : 1) * TRIP);
  must_be("leagues",
          count_of(ompt_callback_parallel_begin,
                   (int)(ompt_parallel_league | ompt_parallel_invoker_runtime), -1),
          2);
  must_be("initial tasks: the program's, and of each team",
          count_of(ompt_callback_implicit_task, ompt_task_initial, begin), 4);
  // With the two leagues and, in each of their three teams, a region of its initial task alone.
  must_be("regions", count_of(ompt_callback_parallel_begin, -1, -1), 3 + 2 + 2 + 3);
  must_be("the sum", (unsigned long)sum, 2 * TRIP + SECTIONS + 1 + 4 + TRIP);
}

int main(void) {
  omp_set_dynamic(0);
  n = (unsigned long)omp_get_max_threads();
  WATCH(dispatch, ompt_set_sometimes);
  WATCH(reduction, ompt_set_sometimes);
  WATCH(flush, ompt_set_sometimes);
  WATCH(cancel, ompt_set_sometimes);
  loops();
  reductions();
  cancelled();
  teams();
  return leave_tool();
}

// Which task waits for which: a tool that hears of tasks before they may begin gets every edge.
//
// header: omp-tools.h
// flags: -rdynamic
// threads: 2 7
// env: ROOST_OMP_LEVELS=0
// reference: clang
// reason: libgomp has no tools
#include <omp.h>

#include "ompt_events.h"

enum { READERS = 4 };

static int x, open_gate;

static void events_expected(void) {
  // From the first task to each reader, and from each of these to the last.
  must_be("edges", count_of(ompt_callback_task_dependence, -1, -1), 2 * READERS);
  for (int i = 0; i < n_events; ++i)
    if (events[i].what == ompt_callback_task_dependence)
      must_be("an edge leads to a later task", events[i].task < events[i].id, 1);
}

int main(void) {
#pragma omp parallel
#pragma omp single
  {
    // Nobody is complete while the others are created.
#pragma omp task depend(out : x)
    {
      int seen = 0;
      while (!seen) {
#pragma omp taskyield
#pragma omp atomic read
        seen = open_gate;
      }
    }
    for (int i = 0; i < READERS; ++i) {
#pragma omp task depend(in : x)
      {
#pragma omp atomic
        x += 0;
      }
    }
#pragma omp task depend(inout : x)
    x = 1;
#pragma omp atomic write
    open_gate = 1;
  }
  return leave_tool();
}

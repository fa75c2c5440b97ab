// A task with a detach clause is complete when its event is fulfilled: by itself, by another task,
// by a thread that is none of OpenMP's. Dependents and taskwait wait for that, also if the task was
// undeferred.
// reference: no
// reason: libgomp 12 hangs in it, libomp 14 ends in an assertion.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void* later(void* event) {
  usleep(2000);
  omp_fulfill_event(*(omp_event_handle_t*)event);
  return 0;
}

static int run(int threads) {
  int wrong = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  for (int round = 0; round < 20; ++round) {
    int a = 0, b = 0, c = 0;
    omp_event_handle_t own, other, foreign;
#pragma omp task detach(own) depend(out : a) shared(a)
    {
      a = 1;
      omp_fulfill_event(own);
    }
#pragma omp task detach(other) depend(inout : a) shared(a, wrong)
    {
      if (a != 1) wrong = 1;
      a = 2;
    }
#pragma omp task depend(in : a) shared(a, b, c, wrong)
    {
      if (a != 2 || !c) wrong = 2;
      b = 1;
    }
    c = 1;
#pragma omp task firstprivate(other)
    omp_fulfill_event(other);
#pragma omp taskwait
    if (!b) wrong = 3;
    pthread_t thread;
    int stage = 0;
    static omp_event_handle_t kept;
#pragma omp task detach(foreign) depend(out : b) shared(stage)
    stage = 1;
#pragma omp task depend(in : b) shared(stage)
    stage *= 5;
    kept = foreign;
    pthread_create(&thread, 0, later, &kept);
    if (round % 2) {
#pragma omp taskwait
      if (stage != 5) wrong = 4;
    } else {
#pragma omp taskgroup
      {
#pragma omp task shared(stage) depend(inout : b)
        stage += 2;
      }
#pragma omp taskwait
      if (stage != 7) wrong = 5;
    }
    pthread_join(thread, 0);
    // The creator of an undeferred task goes on when the body is over.
    omp_event_handle_t undeferred;
    int d = 0;
#pragma omp task detach(undeferred) if (0) shared(d)
    d = 1;
    if (d != 1) wrong = 6;
    omp_fulfill_event(undeferred);
#pragma omp taskwait
#if !defined(__clang__)
    // Its successors wait for the event. (clang's programs do not say that such a task has any.)
    omp_event_handle_t awaited;
    int e = 0, seen = -1;
#pragma omp task detach(awaited) if (0) depend(out : e) shared(d)
    ++d;
#pragma omp task depend(in : e) shared(e, seen)
    seen = e;
#pragma omp taskyield
    usleep(200);
    e = 1;
    omp_fulfill_event(awaited);
#pragma omp taskwait
    if (d != 2 || seen != 1) wrong = 7;
#endif
  }
  return wrong;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    int wrong = run(sizes[i]);
    if (wrong) {
      printf("detached tasks complete too early (%d) with %d threads\n", wrong, sizes[i]);
      return 1;
    }
  }
  return 0;
}

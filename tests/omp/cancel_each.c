// Cancellation of regions, loops, sections and taskgroups: nothing hangs, what comes after is
// whole, and without OMP_CANCELLATION nothing is cancelled.
// env: OMP_CANCELLATION=true
#include <omp.h>
#include <stdio.h>

static int region(int threads) {
  int after = 0, reached = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp atomic
    ++reached;
    if (omp_get_thread_num() == omp_get_num_threads() / 2) {
#pragma omp cancel parallel
    }
#pragma omp barrier
#pragma omp atomic
    ++after;
#pragma omp cancellation point parallel
#pragma omp barrier
  }
  if (reached != threads) return 1;
  return omp_get_cancellation() ? after != 0 : after != threads;
}

static int loop(int threads) {
  int count = 0, after = 0, wrong = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int i = 0; i < 10000; ++i) {
#pragma omp atomic
      ++count;
      if (i % 100 == 5) {
#pragma omp cancel for
      }
#pragma omp cancellation point for
    }
#pragma omp atomic
    ++after;
#pragma omp barrier
    if (after != threads) wrong = 1;
#pragma omp barrier
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 1000; ++i) {
#pragma omp atomic
      --after;
    }
    if (after != threads - 1000) wrong = 1;
  }
  return wrong || (omp_get_cancellation() ? count >= 10000 : count != 10000);
}

static int in_sections(int threads) {
  int a = 0, after = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp cancel sections
        a = 1;
      }
#pragma omp section
      {
#pragma omp cancellation point sections
      }
    }
#pragma omp atomic
    ++after;
  }
  return after != threads || a != !omp_get_cancellation();
}

static int group(int threads) {
  int begun = 0, later = 0, outside = 0, at_end = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
#pragma omp task shared(outside)
    {
#pragma omp atomic
      ++outside;
    }
#pragma omp taskgroup
    {
#pragma omp task
      {
#pragma omp cancel taskgroup
      }
#pragma omp taskwait
      for (int i = 0; i < 100; ++i) {
#pragma omp task shared(begun)
        {
#pragma omp atomic
          ++begun;
        }
      }
    }
    at_end = begun;
#pragma omp taskgroup
    for (int i = 0; i < 100; ++i) {
#pragma omp task shared(later)
      {
#pragma omp cancellation point taskgroup
#pragma omp atomic
        ++later;
      }
    }
  }
  if (outside != 1 || later != 100) return 1;
  return omp_get_cancellation() ? at_end != 0 : at_end != 100;
}

// The region is cancelled while members wait in barriers and tasks are queued.
static int region_with_tasks(int threads) {
  int ended = 0;
#pragma omp parallel num_threads(threads)
  {
    for (int i = 0; i < 50; ++i) {
#pragma omp task
      {
#pragma omp atomic
        ++ended;
      }
    }
    if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
    }
#pragma omp barrier
  }
  return omp_get_cancellation() ? ended > threads * 50 : ended != threads * 50;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    for (int round = 0; round < 20; ++round) {
      int wrong = region(sizes[i]) | loop(sizes[i]) << 1 | in_sections(sizes[i]) << 2 |
                  group(sizes[i]) << 3 | region_with_tasks(sizes[i]) << 4;
      if (wrong) {
        printf("cancellation is wrong (%d) with %d threads\n", wrong, sizes[i]);
        return 1;
      }
    }
  }
  return 0;
}

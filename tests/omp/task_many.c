// A hundred thousand tasks: of one producer with all others at the barrier, of all members, of
// tasks; and memory does not grow with the rounds.
// sanitized: no
// reason: it counts memory, of which a sanitizer takes more
#include <stdio.h>
#include <sys/resource.h>

static long done;

static long rounds(int threads, int count) {
  done = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    for (int i = 0; i < count; ++i) {
#pragma omp task
      {
#pragma omp atomic
        ++done;
      }
    }
#pragma omp barrier
    for (int i = 0; i < count / 64; ++i) {
#pragma omp task
      {
#pragma omp task
        {
#pragma omp atomic
          ++done;
        }
      }
    }
  }
  return done - count - (long)threads * (count / 64);
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    if (rounds(sizes[i], 100000)) {
      printf("tasks are missing with %d threads\n", sizes[i]);
      return 1;
    }
  }
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 40; ++i) {
    if (rounds(7, 20000)) {
      printf("tasks are missing in round %d\n", i);
      return 1;
    }
  }
  getrusage(RUSAGE_SELF, &after);
  if (after.ru_maxrss - before.ru_maxrss > 20000) {
    printf("forty rounds of tasks took %ld KiB\n", after.ru_maxrss - before.ru_maxrss);
    return 1;
  }
  return 0;
}

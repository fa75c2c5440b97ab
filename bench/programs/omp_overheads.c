// What OpenMP constructs cost: the time of one, less the time of the work in it, in the manner of
// EPCC's micro-benchmarks.
//
//   omp_overheads [--seconds S] [CONSTRUCT]...
//
// Prints a line of JSON for each construct (all without arguments; `--list` names them): `value` is
// the median in ns, `min` the best sample. Teams have as many members as OMP_NUM_THREADS says,
// unless the construct's name says otherwise. With OWN_THREADS defined, other constructs: of
// members that have a threadprivate variable. Compiled by gcc and by clang; knows nothing of Roost.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 201, DELAY = 64 };
static const double kSampleNs = 1e6;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// Some 50 ns of work that no compiler takes away.
static inline void delay(void) {
  for (int i = 0; i < DELAY; ++i) __asm__ volatile("" ::: "memory");
}

static int members;  // of a team without a clause
static omp_lock_t lock;
static long shared_sum;

// Each of these does its construct `count` times and returns the work in it, in units of delay(),
// that the time includes.

static double reference(long count, int a, int b) {
  for (long i = 0; i < count; ++i) delay();
  return a + b;
}

static double parallel(long count, int a, int b) {
  for (long i = 0; i < count; ++i) {
#pragma omp parallel
    delay();
  }
  return (double)count + 0 * (a + b);
}

static double loop(long count, int a, int b) {
#pragma omp parallel
  for (long i = 0; i < count; ++i) {
#pragma omp for
    for (int j = 0; j < members; ++j) delay();
  }
  return (double)count + 0 * (a + b);
}

static double dynamic_loop(long count, int a, int b) {
#pragma omp parallel
  for (long i = 0; i < count; ++i) {
#pragma omp for schedule(dynamic)
    for (int j = 0; j < members; ++j) delay();
  }
  return (double)count + 0 * (a + b);
}

// One iteration of a long loop, whose chunks are handed out one at a time.
static double dynamic_chunk(long count, int a, int b) {
#pragma omp parallel for schedule(dynamic)
  for (long j = 0; j < count; ++j) delay();
  return (double)count / members + 0 * (a + b);
}

static double parallel_loop(long count, int a, int b) {
  for (long i = 0; i < count; ++i) {
#pragma omp parallel for
    for (int j = 0; j < members; ++j) delay();
  }
  return (double)count + 0 * (a + b);
}

static double barrier(long count, int a, int b) {
#pragma omp parallel
  for (long i = 0; i < count; ++i) {
    delay();
#pragma omp barrier
  }
  return (double)count + 0 * (a + b);
}

static double single(long count, int a, int b) {
#pragma omp parallel
  for (long i = 0; i < count; ++i) {
#pragma omp single
    delay();
  }
  return (double)count + 0 * (a + b);
}

// All members, one after the other.
static double critical(long count, int a, int b) {
  long each = count / members + 1;
#pragma omp parallel
  for (long i = 0; i < each; ++i) {
#pragma omp critical
    delay();
  }
  return (double)(each * members) + 0 * (a + b);
}

static double locks(long count, int a, int b) {
  long each = count / members + 1;
#pragma omp parallel
  for (long i = 0; i < each; ++i) {
    omp_set_lock(&lock);
    delay();
    omp_unset_lock(&lock);
  }
  return (double)(each * members) + 0 * (a + b);
}

// A lock that nobody else wants.
static double own_lock(long count, int a, int b) {
  for (long i = 0; i < count; ++i) {
    omp_set_lock(&lock);
    delay();
    omp_unset_lock(&lock);
  }
  return (double)count + 0 * (a + b);
}

static double atomic(long count, int a, int b) {
  long each = count / members + 1;
#pragma omp parallel
  for (long i = 0; i < each; ++i) {
#pragma omp atomic
    shared_sum += i;
  }
  return 0.0 * (a + b);
}

static double reduction(long count, int a, int b) {
  long sum = 0;
  for (long i = 0; i < count; ++i) {
#pragma omp parallel reduction(+ : sum)
    {
      delay();
      sum++;
    }
  }
  shared_sum += sum;
  return (double)count + 0 * (a + b);
}

static double ordered(long count, int a, int b) {
#pragma omp parallel for ordered schedule(static, 1)
  for (long i = 0; i < count; ++i) {
#pragma omp ordered
    delay();
  }
  return (double)count + 0 * (a + b);
}

// One member creates all tasks.
static double task_one(long count, int a, int b) {
#pragma omp parallel
  {
#pragma omp single
    for (long i = 0; i < count; ++i) {
#pragma omp task
      delay();
    }
  }
  return (double)count / members + 0 * (a + b);
}

// Each is executed by its creator at once, on top of another one.
static double task_undeferred(long count, int a, int b) {
#pragma omp parallel
  {
#pragma omp single
    for (long i = 0; i < count; i += 2) {
#pragma omp task if (0)
      {
#pragma omp task if (0)
        delay();
        delay();
      }
    }
  }
  return (double)count + 0 * (a + b);
}

// All create their own.
static double task_all(long count, int a, int b) {
  long each = count / members + 1;
#pragma omp parallel
  for (long i = 0; i < each; ++i) {
#pragma omp task
    delay();
  }
  return (double)each + 0 * (a + b);
}

static long fibonacci(int n) {
  if (n < 2) return n;
  long x, y;
#pragma omp task shared(x)
  x = fibonacci(n - 1);
#pragma omp task shared(y)
  y = fibonacci(n - 2);
#pragma omp taskwait
  return x + y;
}

// A tree of tasks that wait for their children; `count` tasks, roughly.
static double task_tree(long count, int a, int b) {
  int n = 2;
  for (long tasks = 2; tasks < count && n < 32; tasks = tasks * 8 / 5) ++n;
#pragma omp parallel
  {
#pragma omp single
    shared_sum += fibonacci(n);
  }
  return 0.0 * (a + b);
}

// In each of `outer` members, one after the other, inner regions. The time is for one of them, over
// all: `count` in all.
static double nested(long count, int outer, int inner) {
  long each = count / outer + 1;
#pragma omp parallel num_threads(outer)
  for (long i = 0; i < each; ++i) {
#pragma omp parallel num_threads(inner)
    delay();
  }
  return 0;
}

#ifdef OWN_THREADS
// Each member has its own: a runtime with lighter members gives each a thread, all through the
// program.
static long own_sum;
#pragma omp threadprivate(own_sum)
static inline void touch(void) { ++own_sum; }
#else
static inline void touch(void) { __asm__ volatile("" ::: "memory"); }
#endif

static double wide_barrier(long count, int size, int b) {
#pragma omp parallel num_threads(size)
  for (long i = 0; i < count; ++i) {
    touch();
#pragma omp barrier
  }
  return 0.0 * b;
}

static double wide_parallel(long count, int size, int b) {
  for (long i = 0; i < count; ++i) {
#pragma omp parallel num_threads(size)
    touch();
  }
  return 0.0 * b;
}

static double unit_ns;  // of a delay()

// A region after a pause in which threads fall asleep, with barriers and as much work between them
// as a small loop has.
static double after_pause(long count, int size, int barriers) {
  enum { WORK = 100 };
  const struct timespec pause = {0, 1000000};
  double paused = 0;
  for (long i = 0; i < count; ++i) {
    double start = now();
    nanosleep(&pause, NULL);
    paused += now() - start;
#pragma omp parallel num_threads(size ? size : members)
    for (int j = 0; j < barriers; ++j) {
      for (int k = 0; k < WORK; ++k) delay();
#pragma omp barrier
    }
  }
  return paused / unit_ns;
}

static const struct construct {
  const char* name;
  double (*run)(long count, int a, int b);
  int a, b;
} constructs[] = {
#ifdef OWN_THREADS
    {"own-parallel-4", wide_parallel, 4, 0},
    {"own-parallel-8", wide_parallel, 8, 0},
    {"own-barrier-4", wide_barrier, 4, 0},
    {"own-barrier-8", wide_barrier, 8, 0},
#else
    {"parallel", parallel, 0, 0},
    {"for", loop, 0, 0},
    {"for-dynamic", dynamic_loop, 0, 0},
    {"chunk-dynamic", dynamic_chunk, 0, 0},
    {"parallel-for", parallel_loop, 0, 0},
    {"barrier", barrier, 0, 0},
    {"single", single, 0, 0},
    {"critical", critical, 0, 0},
    {"lock", locks, 0, 0},
    {"lock-uncontended", own_lock, 0, 0},
    {"atomic", atomic, 0, 0},
    {"reduction", reduction, 0, 0},
    {"ordered", ordered, 0, 0},
    {"task-one", task_one, 0, 0},
    {"task-all", task_all, 0, 0},
    {"task-tree", task_tree, 0, 0},
    {"task-undeferred", task_undeferred, 0, 0},
    {"parallel-8", wide_parallel, 8, 0},
    {"parallel-64", wide_parallel, 64, 0},
    {"barrier-8", wide_barrier, 8, 0},
    {"barrier-16", wide_barrier, 16, 0},
    {"barrier-64", wide_barrier, 64, 0},
    {"paused", after_pause, 0, 1},
    {"paused-64", after_pause, 64, 20},
    {"nested-2x2", nested, 2, 2},
    {"nested-4x4", nested, 4, 4},
    {"nested-8x8", nested, 8, 8},
    {"nested-16x16", nested, 16, 16},
    {"nested-64x64", nested, 64, 64},
#endif
};
enum { CONSTRUCTS = sizeof constructs / sizeof constructs[0] };

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// As many times as take a millisecond. The first calls make threads: not counted.
static long calibrate(const struct construct* what) {
  what->run(1, what->a, what->b);
  for (long count = 1;; count *= 2) {
    double start = now();
    what->run(count, what->a, what->b);
    if (now() - start > kSampleNs || count >= 1 << 24) return count;
  }
}

static double delay_ns(void) {
  const struct construct what = {"reference", reference, 0, 0};
  long count = calibrate(&what);
  double best = 1e18;
  for (int i = 0; i < 50; ++i) {
    double start = now();
    reference(count, 0, 0);
    double each = (now() - start) / (double)count;
    if (each < best) best = each;
  }
  return best;
}

static void measure(const struct construct* what, double seconds) {
  long count = calibrate(what);
  double samples[SAMPLES];
  int taken = 0;
  double begun = now();
  while (taken < SAMPLES && (taken < 3 || now() - begun < seconds * 1e9)) {
    double start = now();
    double work = what->run(count, what->a, what->b);
    samples[taken++] = (now() - start - work * unit_ns) / (double)count;
    if (now() - begun > 10 * seconds * 1e9) break;  // one of them takes that long
  }
  qsort(samples, (size_t)taken, sizeof samples[0], by_value);
  printf("{\"construct\": \"%s\", \"threads\": %d, \"value\": %.2f, \"min\": %.2f}\n", what->name,
         members, samples[taken / 2], samples[0]);
  fflush(stdout);
}

int main(int argc, char** argv) {
  double seconds = 0.2;
  int first = 1;
  if (argc > 1 && !strcmp(argv[1], "--list")) {
    for (int i = 0; i < CONSTRUCTS; ++i) printf("%s\n", constructs[i].name);
    return 0;
  }
  if (argc > 2 && !strcmp(argv[1], "--seconds")) {
    seconds = atof(argv[2]);
    first = 3;
  }
  omp_set_dynamic(0);
  omp_set_max_active_levels(4);
  omp_init_lock(&lock);
  members = omp_get_max_threads();
  unit_ns = delay_ns();
  for (int i = 0; i < CONSTRUCTS; ++i)
    if (first == argc) measure(&constructs[i], seconds);
  for (int i = first; i < argc; ++i) {
    int found = 0;
    for (int j = 0; j < CONSTRUCTS; ++j) {
      if (strcmp(argv[i], constructs[j].name) != 0) continue;
      measure(&constructs[j], seconds);
      found = 1;
    }
    if (!found) {
      fprintf(stderr, "omp_overheads: there is no construct %s; --list names them\n", argv[i]);
      return 2;
    }
  }
  return 0;
}

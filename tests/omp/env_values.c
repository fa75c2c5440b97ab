// What variables of the environment do, each in a process of its own.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int inner_size(void) {
  int size = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel
    if (omp_get_thread_num() == 0 && omp_get_ancestor_thread_num(1) == 0)
      size = omp_get_num_threads();
  }
  return size;
}

static int size(void) {
  int size = 0;
#pragma omp parallel
  if (omp_get_thread_num() == 0) size = omp_get_num_threads();
  return size;
}

static int schedule(int wanted, int wanted_chunk) {
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  return (kind & 0x7fffffff) == (unsigned)wanted && chunk == wanted_chunk;
}

// One letter a test, behind the variables it is run with.
static int holds(char test) {
  switch (test) {
    case 'a':
      return size() == 3 && omp_get_max_threads() == 3;
    case 'b':
      return size() == 5 && inner_size() == 2;
    case 'c':
      return schedule(omp_sched_guided, 4);
    case 'd':
      return schedule(omp_sched_dynamic, 9);
    case 'e':
      return omp_get_dynamic();
    case 'f':
      return inner_size() == 1 && omp_get_max_active_levels() == 1;
    case 'g':
      return omp_get_thread_limit() == 4;
    case 'h':
      return omp_get_cancellation();
    case 'i':
      return omp_get_max_task_priority() == 17;
    case 'j':
      return omp_get_proc_bind() == omp_proc_bind_spread;
    case 'k':
      return schedule(omp_sched_auto, 1);
    case 'l':
      return omp_get_max_active_levels() == 2 && inner_size() == 6;
    // libgomp, which may be loaded besides, binds the thread that loads it.
    case 'm':
      return omp_get_num_procs() == atoi(getenv("PROCS")) && omp_get_num_places() > 0 &&
             omp_get_proc_bind() != omp_proc_bind_false && omp_get_place_num() >= 0;
    case 'n':
      return omp_get_num_procs() == atoi(getenv("PROCS"));
    case 'o':
      return omp_get_num_places() == 0 && omp_get_place_num() < 0;
    case 'p':
      return omp_get_num_places() == 1 && omp_get_place_num_procs(0) == 1;
    case 'q':
      return omp_get_num_procs() == 1 && size() == 1 && omp_get_num_places() == 1;
  }
  return 0;
}

static const char* const tests[][4] = {
    {"a", "OMP_NUM_THREADS=3"},
    {"a", "OMP_NUM_THREADS= 3 "},
    {"b", "OMP_NUM_THREADS=5,2", "OMP_MAX_ACTIVE_LEVELS=4"},
    {"b", "OMP_NUM_THREADS= 5 , 2", "OMP_MAX_ACTIVE_LEVELS=4"},
    {"c", "OMP_SCHEDULE=guided,4"},
#ifndef __clang__  // libomp stops at a blank
    {"c", "OMP_SCHEDULE= Guided , 4 "},
#endif
    {"c", "OMP_SCHEDULE=nonmonotonic:guided,4"},
    {"d", "OMP_SCHEDULE=monotonic:dynamic,9"},
    {"e", "OMP_DYNAMIC=true"},
    {"f", "OMP_NUM_THREADS=4", "OMP_MAX_ACTIVE_LEVELS=1"},
    {"g", "OMP_THREAD_LIMIT=4"},
    {"h", "OMP_CANCELLATION=True"},
    {"i", "OMP_MAX_TASK_PRIORITY=17"},
    {"j", "OMP_PROC_BIND=spread,close", "OMP_PLACES=threads"},
    {"k", "OMP_SCHEDULE=auto"},
    {"l", "OMP_NUM_THREADS=2,6", "OMP_MAX_ACTIVE_LEVELS=2"},
    {"m", "OMP_PROC_BIND=true"},
    {"m", "OMP_PROC_BIND=spread", "OMP_PLACES={0}"},
    {"m", "OMP_PLACES=threads"},
    {"n", "GOMP_CPU_AFFINITY=0-1"},
    {"o", "OMP_PROC_BIND=false", "OMP_PLACES=cores"},
    {"p", "OMP_PLACES={0,1000},{1000}"},
#ifdef __clang__  // libomp's
    {"q", "KMP_HW_SUBSET=1s,1c,1t", "OMP_PLACES=threads"},
    {"n", "KMP_HW_SUBSET=4096c"},
#endif
};

int main(int argc, char** argv) {
  if (argc > 1) return !holds(*argv[1]);
  static const char* const cleared[] = {"OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_PROC_BIND",
                                        "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS"};
  for (unsigned i = 0; i < sizeof cleared / sizeof *cleared; ++i) unsetenv(cleared[i]);
  char procs[16];
  snprintf(procs, sizeof procs, "%d", omp_get_num_procs());
  setenv("PROCS", procs, 1);
  int wrong = 0;
  for (unsigned i = 0; i < sizeof tests / sizeof *tests; ++i) {
    pid_t child = fork();
    if (child == 0) {
      for (int k = 1; k < 4 && tests[i][k]; ++k) putenv((char*)tests[i][k]);
      execl("/proc/self/exe", argv[0], tests[i][0], (char*)NULL);
      _exit(2);
    }
    int status;
    waitpid(child, &status, 0);
    if (status == 0) continue;
    wrong = 1;
    printf("with %s %s: status %x\n", tests[i][1], tests[i][2] ? tests[i][2] : "", status);
  }
  return wrong;
}

// LLVM's own variables and the functions that ask for them: schedules of its own names, the time
// that waiting members poll, variables set by the program, the text of an error directive, and
// tasks without a limit.
//
// compilers: clang
// threads: 2
// reference: no
// reason: libomp 14 has another text
// env: OMP_SCHEDULE=trapezoidal,13 OMP_WAIT_POLICY=active KMP_ENABLE_TASK_THROTTLING=0
#include <fcntl.h>
#include <limits.h>
#include <omp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

enum { kTasks = 3000, kTrapezoidal = 101 };

int kmp_get_blocktime(void);
void kmp_set_defaults(const char* list);
int __kmpc_get_target_offload(void);
void __kmpc_error(void* where, int severity, const char* message);

// The master alone creates tasks, and none may run before it has created all: a limit would make
// it run one itself.
static int created_when_first_ran(void) {
  int created = 0, first = 0, go = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
  {
    for (int i = 0; i < kTasks; ++i) {
      ++created;
#pragma omp task
      {
        if (omp_get_thread_num() == 0 && !first) {
          first = created;
          __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
        }
        while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) usleep(100);
      }
    }
    if (!first) first = created;
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
  }
  return first;
}

static int said(const char* text) {
  int error = dup(2), file = memfd_create("said", 0);
  dup2(file, 2);
  __kmpc_error(NULL, 1, "look here");
  dup2(error, 2);
  char buffer[256] = {0};
  ssize_t length = pread(file, buffer, sizeof buffer - 1, 0);
  close(file);
  close(error);
  return length > 0 && strcmp(buffer, text) == 0;
}

int main(void) {
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  EXPECT(kind == kTrapezoidal && chunk == 13);
  int sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
  for (int i = 1; i <= 1000; ++i) sum += i;
  EXPECT(sum == 500500);
  omp_set_schedule(omp_sched_auto, 0);
  omp_get_schedule(&kind, &chunk);
  EXPECT(kind == omp_sched_auto && chunk == 1);

  EXPECT(kmp_get_blocktime() == INT_MAX);
  kmp_set_defaults("OMP_TARGET_OFFLOAD=Disabled|KMP_BLOCKTIME=30");
  EXPECT(__kmpc_get_target_offload() == 0);
  EXPECT(kmp_get_blocktime() == 30);
  kmp_set_defaults("OMP_TARGET_OFFLOAD=mandatory");
  EXPECT(__kmpc_get_target_offload() == 2);

  EXPECT(said("OMP: Warning #283: unknown: Encountered user-directed warning: look here\n"));
  EXPECT(created_when_first_ran() == kTasks);
  return verdict();
}

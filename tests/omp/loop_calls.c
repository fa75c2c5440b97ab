// schedule(simd: runtime), by calls: chunks are whole vectors, but for the loop's end, by whatever
// schedule they are handed out.
// compilers: clang
// reference: no
// reason: libomp's static blocks of version 14 differ
#include <omp.h>
#include <stdio.h>

enum { RUNTIME_SIMD = 47, VECTOR = 4, LAST = 1002 };

int __kmpc_global_thread_num(void* where);
void __kmpc_dispatch_init_4(void* where, int gtid, int schedule, int low, int high, int step,
                            int chunk);
int __kmpc_dispatch_next_4(void* where, int gtid, int* last, int* low, int* high, int* step);

static int where[6] = {0, 2};

static int run(omp_sched_t kind, int chunk) {
  int wrong = 0, seen = 0;
  omp_set_schedule(kind, chunk);
#pragma omp parallel reduction(+ : wrong, seen)
  {
    int gtid = __kmpc_global_thread_num(where), last = 0, low = 0, high = 0, step = 1;
    __kmpc_dispatch_init_4(where, gtid, RUNTIME_SIMD, 0, LAST, 1, VECTOR);
    while (__kmpc_dispatch_next_4(where, gtid, &last, &low, &high, &step)) {
      seen += high - low + 1;
      wrong += low % VECTOR != 0 || (high != LAST && (high + 1) % VECTOR != 0);
    }
  }
  if (wrong || seen != LAST + 1)
    printf("schedule %d,%d: %d chunks are odd, %d iterations\n", kind, chunk, wrong, seen);
  return wrong || seen != LAST + 1;
}

int main(void) {
  int wrong = 0;
  for (int chunk = 0; chunk <= 3; chunk += 3) {
    wrong |= run(omp_sched_static, chunk);
    wrong |= run(omp_sched_dynamic, chunk);
    wrong |= run(omp_sched_guided, chunk);
  }
  return wrong;
}

// A library as MKL is: how many threads a thread's calls may have is in thread-specific data, set
// by a function with the name of MKL's, which is called through the procedure linkage table.
#include <omp.h>
#include <pthread.h>
#include <stdint.h>

static pthread_key_t key;
__attribute__((constructor)) static void load(void) { pthread_key_create(&key, NULL); }

int threads_of_caller(void) { return (int)(intptr_t)pthread_getspecific(key); }

__attribute__((visibility("default"), noinline)) int mkl_serv_set_num_threads_local(int threads) {
  int before = threads_of_caller();
  pthread_setspecific(key, (void*)(intptr_t)threads);
  return before;
}

// Members allow themselves one thread, meet, and put back what was. How many have not found it so.
int in_region(int members) {
  int surprised = 0;
#pragma omp parallel num_threads(members) reduction(+ : surprised)
  {
    int mine = 1 + omp_get_thread_num();
    int before = mkl_serv_set_num_threads_local(mine);
#pragma omp barrier
    surprised += threads_of_caller() != mine;
#pragma omp barrier
    surprised += mkl_serv_set_num_threads_local(before) != mine || before != 0;
  }
  return surprised;
}

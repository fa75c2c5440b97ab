// Threads of C that call Go, which is loaded into their process.
#include <pthread.h>
#include <stdio.h>

#include "libworkers.h"

static void* call_go(void* result) {
  *(long*)result = SumOfSquares(3000);
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  long results[4] = {0};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, call_go, &results[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; ++i) printf("%ld\n", results[i]);
  return 0;
}

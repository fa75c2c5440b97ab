// Threads that only compute, without a call in between: compute THREADS MILLION_STEPS.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t steps;

static void* work(void* argument) {
  uint64_t* value = argument;
  for (int64_t i = 0; i < steps; ++i) {
    *value = *value * 6364136223846793005u + 1442695040888963407u;
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int threads = atoi(argv[1]);
  steps = atoll(argv[2]) * 1000000;
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  uint64_t* values = calloc((size_t)threads, sizeof *values);
  uint64_t sum = 0;
  for (int i = 0; i < threads; ++i) {
    values[i] = (uint64_t)i;
    if (pthread_create(&ids[i], NULL, work, &values[i]) != 0) return 1;
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    sum += values[i];
  }
  printf("sum %llu\n", (unsigned long long)sum);
  return 0;
}

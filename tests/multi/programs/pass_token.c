// A token goes round threads that wait at a semaphore each: pass_token THREADS ROUNDS. In every
// 64th round whoever has passed it on keeps its core until the next one has it.
//
// Prints "N times".
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64, kKeepsCore = 64 };

static sem_t places[kMost];
static int n_threads, n_rounds;
static atomic_long passed;  // how often the token has come

static void* pass(void* argument) {
  long own = (long)argument;
  for (int round = 0; round < n_rounds; ++round) {
    while (sem_wait(&places[own]) != 0) {
    }
    long before = atomic_fetch_add(&passed, 1) + 1;
    sem_post(&places[(own + 1) % n_threads]);
    bool last = before == (long)n_threads * n_rounds;
    if (round % kKeepsCore == kKeepsCore - 1 && !last)
      while (atomic_load(&passed) == before) {
      }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  n_threads = atoi(argv[1]);
  n_rounds = atoi(argv[2]);
  if (n_threads < 2 || n_threads > kMost) return 2;
  for (int i = 0; i < n_threads; ++i) sem_init(&places[i], 0, i == 0);
  pthread_t threads[kMost];
  for (long i = 0; i < n_threads; ++i) pthread_create(&threads[i], NULL, pass, (void*)i);
  for (int i = 0; i < n_threads; ++i) pthread_join(threads[i], NULL);
  printf("%ld times\n", atomic_load(&passed));
  return 0;
}

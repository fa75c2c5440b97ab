// Threads that meet at a barrier again and again: barrier_turns THREADS ROUNDS.
//
// Prints "N arrivals". Exit 1 if the barrier let anybody through.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static int threads, rounds;
static pthread_barrier_t barrier;
static atomic_long arrivals;
static atomic_int broken;

static void* turn(void* nothing) {
  for (int round = 0; round < rounds; ++round) {
    long least = (long)(round + 1) * threads;
    atomic_fetch_add(&arrivals, 1);
    pthread_barrier_wait(&barrier);
    if (atomic_load(&arrivals) < least) atomic_store(&broken, 1);
  }
  return nothing;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  threads = atoi(argv[1]);
  rounds = atoi(argv[2]);
  pthread_t ids[64];
  if (threads < 1 || threads > 64) return 2;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, turn, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  printf("%ld arrivals\n", atomic_load(&arrivals));
  return atomic_load(&broken);
}

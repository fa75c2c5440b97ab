// Threads that take turns by inline futex calls, as libgomp's do: THREADS ROUNDS. Prints the turns.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../posix/inline_syscall.h"

static unsigned threads, rounds;
static uint32_t turn;

static void* take_turns(void* data) {
  const uint32_t mine = (uint32_t)(uintptr_t)data;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t wanted = round * threads + mine;
    for (uint32_t now; (now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != wanted;)
      inline_futex_wait(&turn, now, NULL);
    inline_set(&turn, wanted + 1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  threads = (unsigned)atoi(argv[1]);
  rounds = (unsigned)atoi(argv[2]);
  pthread_t* handles = calloc(threads, sizeof *handles);
  for (uintptr_t i = 0; i < threads; ++i) {
    if (pthread_create(&handles[i], NULL, take_turns, (void*)i) != 0) return 1;
  }
  for (unsigned i = 0; i < threads; ++i) pthread_join(handles[i], NULL);
  printf("%u turns\n", turn);
  return 0;
}

// Bytes come through a pipe, and while a thread waits in read for each of them, another polls the
// pipe until it has gone: poll_for_another BYTES. As Python's multiprocessing.Pool does.
//
// Prints "N polls": how many found a byte there.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];
static long n_bytes;
static atomic_long taken;

static void* take(void* unused) {
  (void)unused;
  char byte;
  for (long i = 0; i < n_bytes; ++i) {
    if (read(ends[0], &byte, 1) != 1) abort();
    atomic_fetch_add(&taken, 1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2 || pipe(ends) != 0) return 2;
  n_bytes = atol(argv[1]);
  pthread_t taker;
  pthread_create(&taker, NULL, take, NULL);
  long polls = 0;
  for (long i = 0; i < n_bytes; ++i) {
    usleep(200);  // the taker waits by then
    if (write(ends[1], "", 1) != 1) abort();
    struct pollfd there = {ends[0], POLLIN, 0};
    while (atomic_load(&taken) == i) polls += poll(&there, 1, 10) > 0;
  }
  pthread_join(taker, NULL);
  printf("%ld polls\n", polls);
  return 0;
}

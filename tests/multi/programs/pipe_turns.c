// A thread and a child process pass a byte to and fro by pipes while other threads compute and
// yield: TURNS THREADS. Prints the turns.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int over;

static void* compute_and_yield(void* unused) {
  unsigned long seed = (unsigned long)unused;
  while (!atomic_load(&over)) {
    for (int i = 0; i < 200000; ++i) {
      seed = seed * 6364136223846793005ul + 1;
      __asm__ volatile("" : "+r"(seed));
    }
    sched_yield();
  }
  return NULL;
}

static int pass_on(int from, int to, int turns, int first) {
  char byte = 'x';
  for (int turn = 0; turn < turns; ++turn) {
    if ((turn > 0 || !first) && read(from, &byte, 1) != 1) return 1;
    if (write(to, &byte, 1) != 1) return 1;
  }
  return first && read(from, &byte, 1) != 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int turns = atoi(argv[1]), n = atoi(argv[2]), there[2], back[2];
  pthread_t threads[64];
  if (n > 64 || pipe(there) != 0 || pipe(back) != 0) return 1;
  pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) return pass_on(there[0], back[1], turns, 0);
  for (int i = 0; i < n; ++i)
    if (pthread_create(&threads[i], NULL, compute_and_yield, NULL) != 0) return 1;
  int failed = pass_on(back[0], there[1], turns, 1);
  atomic_store(&over, 1);
  for (int i = 0; i < n; ++i) pthread_join(threads[i], NULL);
  int status = 0;
  if (failed || waitpid(child, &status, 0) != child || status != 0) return 1;
  printf("%d turns\n", turns);
  return 0;
}

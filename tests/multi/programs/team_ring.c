// Processes with a team of threads each, in a ring: team_ring PROCESSES THREADS MESSAGES. Thread t
// of each passes messages on to thread t of the next. It waits by looking under a lock of its
// process and yielding in between, as MPI libraries do for programs whose threads all communicate.
// Prints the messages.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMost = 64 };

static int processes, threads, messages, own;
static int (*received)[kMost];  // by process and thread, in shared memory
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int has_received(int thread, int message) {
  pthread_mutex_lock(&lock);
  int last = __atomic_load_n(&received[own][thread], __ATOMIC_ACQUIRE);
  pthread_mutex_unlock(&lock);
  return last >= message;
}

static void* communicate(void* number) {
  int thread = (int)(intptr_t)number;
  for (int message = 1; message <= messages; ++message) {
    __atomic_store_n(&received[(own + 1) % processes][thread], message, __ATOMIC_RELEASE);
    while (!has_received(thread, message)) sched_yield();
  }
  return NULL;
}

static int run_team(void) {
  pthread_t team[kMost];
  for (intptr_t i = 0; i < threads; ++i)
    if (pthread_create(&team[i], NULL, communicate, (void*)i) != 0) return 1;
  for (int i = 0; i < threads; ++i) pthread_join(team[i], NULL);
  return 0;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  processes = atoi(words[1]), threads = atoi(words[2]), messages = atoi(words[3]);
  if (processes < 1 || processes > kMost || threads < 1 || threads > kMost) return 2;
  received = mmap(NULL, sizeof *received * (size_t)processes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (received == MAP_FAILED) return 1;
  for (own = 0; own < processes; ++own) {
    pid_t child = fork();
    if (child == 0) _exit(run_team());
    if (child < 0) return 1;
  }
  int failed = 0, status;
  while (wait(&status) > 0) failed |= status;
  printf("%d messages\n", messages);
  return failed != 0;
}

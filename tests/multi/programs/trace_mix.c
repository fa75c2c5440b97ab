// Threads that take turns with a mutex and a condition variable, sleep and yield, and a child.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 4, kRounds = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;

static void* take_turns(void* data) {
  int me = (int)(long)data;
  for (int round = 0; round < kRounds; ++round) {
    pthread_mutex_lock(&mutex);
    while (turn != me) pthread_cond_wait(&turned, &mutex);
    turn = (turn + 1) % kThreads;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&mutex);
    sched_yield();
  }
  struct timespec moment = {0, 1000000};
  nanosleep(&moment, NULL);
  return NULL;
}

static void run_threads(void) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, take_turns, (void*)i) != 0) exit(1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

// With an argument: says that it works, and goes on until it is killed.
int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    run_threads();
    puts("working");
    fflush(stdout);
    for (;;) run_threads();
  }
  pid_t child = fork();
  run_threads();
  if (child == 0) return 0;
  int status = 1;
  waitpid(child, &status, 0);
  return status != 0;
}

// Has COUNT threads at once, all waiting: many_threads COUNT. Says how many there were.
//
// Threads that could not be created do not count, but must have failed with EAGAIN.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t may_end = PTHREAD_COND_INITIALIZER;
static int waiting, released;

static void* wait_for_release(void* unused) {
  pthread_mutex_lock(&mutex);
  ++waiting;
  pthread_cond_signal(&arrived);
  while (!released) pthread_cond_wait(&may_end, &mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = atoi(argv[1]), created = 0;
  pthread_t* ids = calloc((size_t)count, sizeof *ids);
  for (; created < count; ++created) {
    int error = pthread_create(&ids[created], NULL, wait_for_release, NULL);
    if (error == EAGAIN) break;
    if (error != 0) {
      fprintf(stderr, "many_threads: thread %d: %s\n", created, strerror(error));
      return 1;
    }
  }
  pthread_mutex_lock(&mutex);
  while (waiting < created) pthread_cond_wait(&arrived, &mutex);
  released = 1;
  pthread_cond_broadcast(&may_end);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < created; ++i) pthread_join(ids[i], NULL);
  printf("%d threads\n", waiting);
  return 0;
}

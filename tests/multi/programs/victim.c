// Keeps cores busy with its own code until it is killed: victim SPINNING PARKED.
//
// PARKED threads wait on a condition variable; then SPINNING threads, the first one among them,
// compute without a call. Writes "spinning" once the first one is about to start with that.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int parked;

static void* park(void* unused) {
  pthread_mutex_lock(&mutex);
  ++parked;
  pthread_cond_signal(&one_more);
  for (;;) pthread_cond_wait(&never, &mutex);
  return unused;
}

static void* spin(void* unused) {
  for (volatile int turn = 0;; turn = !turn) {
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int spinning = atoi(argv[1]), to_park = atoi(argv[2]);
  pthread_t thread;
  for (int i = 0; i < to_park; ++i) {
    if (pthread_create(&thread, NULL, park, NULL) != 0) return 1;
  }
  // Whoever counted itself gave the mutex up by waiting, so all are waiting when this ends.
  pthread_mutex_lock(&mutex);
  while (parked < to_park) pthread_cond_wait(&one_more, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int i = 1; i < spinning; ++i) {
    if (pthread_create(&thread, NULL, spin, NULL) != 0) return 1;
  }
  const char* message = "spinning\n";
  if (write(STDOUT_FILENO, message, strlen(message)) < 0) return 1;
  spin(NULL);
}

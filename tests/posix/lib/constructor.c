// A library whose constructor and destructor use threads, one of which lives in between. What
// happened is told in letters; the destructor writes its own to standard output, where asked to.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char events[16];
static pthread_t background;
static sem_t stop;
static __thread int fresh = 3;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int greeted;

static void note(const char* letter) { strcat(events, letter); }

static void require(int condition) {
  if (!condition) abort();
}

const char* constructor_events(void) { return events; }

static void* run_once(void* letter) {
  require(fresh == 3);
  fresh = 4;
  note(letter);
  return letter;
}

static void* run_in_background(void* unused) {
  require(pthread_mutex_lock(&mutex) == 0);
  greeted = 1;
  require(pthread_cond_signal(&cond) == 0);
  require(pthread_mutex_unlock(&mutex) == 0);
  while (sem_wait(&stop) != 0) {
  }
  return unused;
}

static void run(const char* letter) {
  pthread_t thread;
  void* result = NULL;
  require(pthread_create(&thread, NULL, run_once, (void*)letter) == 0);
  require(pthread_join(thread, &result) == 0);
  require(result == letter);
}

__attribute__((constructor)) static void construct(void) {
  run("a");
  run("b");
  require(sem_init(&stop, 0, 0) == 0);
  require(pthread_create(&background, NULL, run_in_background, NULL) == 0);
  require(pthread_mutex_lock(&mutex) == 0);
  while (!greeted) pthread_cond_wait(&cond, &mutex);
  require(pthread_mutex_unlock(&mutex) == 0);
  note("g");
}

__attribute__((destructor)) static void destruct(void) {
  require(sem_post(&stop) == 0);
  require(pthread_join(background, NULL) == 0);
  note("j");
  run("d");
  if (getenv("POSIX_TEST_TRACE")) require(write(1, events, strlen(events)) > 0);
}

// A region of more members than cores whose members call back into an interpreter with one lock, as
// members do that call Python: what the interpreter knows of a thread is in thread-specific data.
// The names are Python's, by which Roost knows such calls.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct state {
  int owner;  // number of the member
  int depth;
};

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t free_again = PTHREAD_COND_INITIALIZER;
static int taken;
static long calls, mixed;

// What members need with the interpreter's lock and without it.
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static long uses;

static void use_shared(void) {
  pthread_mutex_lock(&shared);
  ++uses;
  if (uses % 7 == 0) usleep(10);
  pthread_mutex_unlock(&shared);
}

static void take(void) {
  pthread_mutex_lock(&lock);
  while (taken) pthread_cond_wait(&free_again, &lock);
  taken = 1;
  pthread_mutex_unlock(&lock);
}

static void drop(void) {
  pthread_mutex_lock(&lock);
  taken = 0;
  pthread_cond_signal(&free_again);
  pthread_mutex_unlock(&lock);
}

static struct state* state_of_thread(void) {
  struct state* mine = pthread_getspecific(key);
  if (mine) return mine;
  mine = calloc(1, sizeof *mine);
  if (!mine) abort();
  mine->owner = omp_get_thread_num();
  pthread_setspecific(key, mine);
  return mine;
}

__attribute__((noipa)) void* PyGILState_GetThisThreadState(void) {
  return pthread_getspecific(key);
}

__attribute__((noipa)) int PyGILState_Ensure(void) {
  int had = pthread_getspecific(key) != NULL;
  struct state* mine = state_of_thread();
  if (mine->owner != omp_get_thread_num()) __atomic_fetch_add(&mixed, 1, __ATOMIC_RELAXED);
  if (mine->depth++ == 0) take();
  return had;
}

__attribute__((noipa)) void PyGILState_Release(int had) {
  struct state* mine = pthread_getspecific(key);
  if (!mine || mine->owner != omp_get_thread_num()) {
    __atomic_fetch_add(&mixed, 1, __ATOMIC_RELAXED);
    return;
  }
  ++calls;
  if (--mine->depth != 0) return;
  if (had) return drop();
  pthread_setspecific(key, NULL);
  drop();
  free(mine);
}

int main(int count, char** words) {
  int rounds = count > 1 ? atoi(words[1]) : 100;
  if (pthread_key_create(&key, NULL) != 0) return 1;
  state_of_thread();  // the first thread is known to the interpreter
#pragma omp parallel num_threads(8)
  for (int i = 0; i < rounds; ++i) {
    use_shared();
    int outer = PyGILState_Ensure();
    int inner = PyGILState_Ensure();
    use_shared();
    usleep(10);
    PyGILState_Release(inner);
    PyGILState_Release(outer);
#pragma omp barrier
  }
  printf("%ld calls, %ld mixed\n", calls, mixed);
  return mixed != 0;
}

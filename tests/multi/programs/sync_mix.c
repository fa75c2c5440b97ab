// Threads that use every kind of POSIX lock and check what each promises: sync_mix THREADS ROUNDS.
//
// Blocks only in calls that Roost interposes. Exit 0 and a line of sums if all held, else 1.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER = 4, TOKENS = 2 };

static int threads, rounds;
static atomic_int broken;

// A bounded buffer: what goes in comes out once.
static pthread_mutex_t buffer_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int buffer[BUFFER], buffered;
static long taken_sum;

static pthread_barrier_t barrier;
static atomic_long arrivals;

static sem_t tokens;
static atomic_int token_holders;

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int written, written_twin;

static void require(int holds, const char* what) {
  if (!holds && !atomic_exchange(&broken, 1)) fprintf(stderr, "sync_mix: %s\n", what);
}

static void put(int value) {
  pthread_mutex_lock(&buffer_mutex);
  while (buffered == BUFFER) pthread_cond_wait(&not_full, &buffer_mutex);
  buffer[buffered++] = value;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&buffer_mutex);
}

static void take(void) {
  pthread_mutex_lock(&buffer_mutex);
  while (buffered == 0) pthread_cond_wait(&not_empty, &buffer_mutex);
  taken_sum += buffer[--buffered];
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&buffer_mutex);
}

static void meet(int round) {
  atomic_fetch_add(&arrivals, 1);
  pthread_barrier_wait(&barrier);
  require(atomic_load(&arrivals) >= (long)(round + 1) * threads, "a barrier let somebody through");
  pthread_barrier_wait(&barrier);
}

static void use_token(void) {
  sem_wait(&tokens);
  require(atomic_fetch_add(&token_holders, 1) < TOKENS, "a semaphore let too many in");
  atomic_fetch_sub(&token_holders, 1);
  sem_post(&tokens);
}

static void read_or_write(int write) {
  if (write) {
    pthread_rwlock_wrlock(&rwlock);
    ++written;
    ++written_twin;
  } else {
    pthread_rwlock_rdlock(&rwlock);
    require(written == written_twin, "a reader saw half a write");
  }
  pthread_rwlock_unlock(&rwlock);
}

static void* nothing(void* result) { return result; }

static void create_and_join(void) {
  pthread_t thread;
  int handed_through;
  void* result = NULL;
  int error = pthread_create(&thread, NULL, nothing, &handed_through);
  require(error == 0, "no thread could be created");
  require(pthread_join(thread, &result) == 0 && result == &handed_through, "a join failed");
}

static void* work(void* argument) {
  int index = *(int*)argument;
  for (int round = 0; round < rounds; ++round) {
    // Even threads put, odd ones take; the number of threads is even.
    if (index % 2 == 0) {
      put(round);
    } else {
      take();
    }
    use_token();
    read_or_write(round % 4 == index % 4);
    if (round % 16 == 0) create_and_join();
    meet(round);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  threads = atoi(argv[1]) / 2 * 2;
  rounds = atoi(argv[2]);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  sem_init(&tokens, 0, TOKENS);
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  int* indices = calloc((size_t)threads, sizeof *indices);
  for (int i = 0; i < threads; ++i) {
    indices[i] = i;
    require(pthread_create(&ids[i], NULL, work, &indices[i]) == 0, "no thread could be created");
  }
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  long expected = (long)threads / 2 * rounds * (rounds - 1) / 2;
  require(taken_sum == expected, "the buffer lost or doubled a value");
  printf("taken %ld, written %d\n", taken_sum, written);
  return atomic_load(&broken);
}

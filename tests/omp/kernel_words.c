// sanitized: address
// reason: ThreadSanitizer holds signals back
//
// Members that share OS threads wait for each other in the kernel, each for a word or an object of
// its own: by futexes, and by what processes may share.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "expect.h"

enum { kMembers = 8, kRounds = 40 };

static int words[kMembers];
static sem_t semaphores[kMembers];
static pthread_barrier_t barrier;
static pthread_mutex_t mutex;
static pthread_cond_t turned;
static int turn;

static void wait_on_word(int me, int operation) {
  while (!__atomic_exchange_n(&words[me], 0, __ATOMIC_ACQUIRE))
    syscall(SYS_futex, &words[me], operation, 0, NULL);
}
static void wake_word(int whom, int operation) {
  __atomic_store_n(&words[whom], 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &words[whom], operation, 1);
}

static void wait_private(int me) { wait_on_word(me, FUTEX_WAIT_PRIVATE); }
static void wake_private(int whom) { wake_word(whom, FUTEX_WAKE_PRIVATE); }
static void wait_shared(int me) { wait_on_word(me, FUTEX_WAIT); }
static void wake_shared(int whom) { wake_word(whom, FUTEX_WAKE); }
static void wait_semaphore(int me) { EXPECT_EQ(sem_wait(&semaphores[me]), 0); }
static void post_semaphore(int whom) { EXPECT_EQ(sem_post(&semaphores[whom]), 0); }
static void wait_condition(int me) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  while (turn != me) EXPECT_EQ(pthread_cond_wait(&turned, &mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}
static void set_condition(int whom) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  turn = whom;
  EXPECT_EQ(pthread_cond_broadcast(&turned), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

// What member 0 finds set goes round.
static void ring(void (*wait)(int), void (*wake)(int)) {
  int passed = 0;
  wake(0);
#pragma omp parallel num_threads(kMembers)
  {
#pragma omp barrier  // all have begun
    for (int round = 0; round < kRounds; ++round) {
      wait(omp_get_thread_num());
      add(&passed, 1);
      wake((omp_get_thread_num() + 1) % kMembers);
    }
  }
  EXPECT_EQ(passed, kMembers * kRounds);
}

static void meet(void) {
  int met = 0;
#pragma omp parallel num_threads(kMembers)
  for (int round = 1; round <= kRounds; ++round) {
    add(&met, 1);
    pthread_barrier_wait(&barrier);
    EXPECT_EQ(look(&met), round * kMembers);
    pthread_barrier_wait(&barrier);
  }
}

static void share(void) {
  pthread_barrierattr_t of_barrier;
  pthread_mutexattr_t of_mutex;
  pthread_condattr_t of_condition;
  pthread_barrierattr_init(&of_barrier);
  pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&barrier, &of_barrier, kMembers);
  pthread_mutexattr_init(&of_mutex);
  pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&mutex, &of_mutex);
  pthread_condattr_init(&of_condition);
  pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&turned, &of_condition);
  for (int i = 0; i < kMembers; ++i) sem_init(&semaphores[i], 1, 0);
}

int main(void) {
  share();
  ring(wait_private, wake_private);
  ring(wait_shared, wake_shared);
  ring(wait_semaphore, post_semaphore);
  ring(wait_condition, set_condition);
  meet();
  return verdict();
}

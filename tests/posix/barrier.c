// Barriers: nobody passes before all are there, one is the serial thread, rounds follow each other
// without a pause, and the memory may go as soon as everybody has been let through.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "blocked.h"
#include "expect.h"

static pthread_barrier_t barrier;
static int arrived, serials, members, rounds;

static void* meet(void* unused) {
  for (int round = 1; round <= rounds; ++round) {
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    int result = pthread_barrier_wait(&barrier);
    EXPECT(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result) __atomic_add_fetch(&serials, 1, __ATOMIC_SEQ_CST);
    int seen = __atomic_load_n(&arrived, __ATOMIC_SEQ_CST);
    EXPECT(seen >= round * members);
    // Nobody can be two rounds ahead.
    EXPECT(seen <= (round + 1) * members);
  }
  return unused;
}

static void meet_often(int count, int n_rounds) {
  pthread_t threads[64];
  members = count;
  rounds = n_rounds;
  arrived = serials = 0;
  EXPECT_EQ(pthread_barrier_init(&barrier, NULL, (unsigned)count), 0);
  for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, meet, NULL), 0);
  for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
  EXPECT_EQ(arrived, count * n_rounds);
  EXPECT_EQ(serials, n_rounds);
}

CASE(one_member) { meet_often(1, 1000); }
CASE(two_members) { meet_often(2, 3000); }
CASE(more_members_than_cores) { meet_often(7, 500); }
CASE(many_members) { meet_often(64, 30); }

CASE(zero_members_are_refused) { EXPECT_EQ(pthread_barrier_init(&barrier, NULL, 0), EINVAL); }

CASE(attributes_keep_what_they_are_given) {
  pthread_barrierattr_t attr;
  int value;
  EXPECT_EQ(pthread_barrierattr_init(&attr), 0);
  EXPECT_EQ(pthread_barrierattr_getpshared(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_PROCESS_PRIVATE);
  EXPECT_EQ(pthread_barrierattr_setpshared(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
  EXPECT_EQ(pthread_barrierattr_getpshared(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_PROCESS_SHARED);
  EXPECT_EQ(pthread_barrier_init(&barrier, &attr, 1), 0);
  EXPECT_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
  EXPECT_EQ(pthread_barrierattr_destroy(&attr), 0);
}

static void* meet_and_free(void* b) {
  if (pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD) {
    EXPECT_EQ(pthread_barrier_destroy(b), 0);
    EXPECT_EQ(munmap(b, 4096), 0);
  }
  return NULL;
}

CASE(the_serial_thread_may_destroy_and_free_it) {
  for (int round = 0; round < 150; ++round) {
    pthread_t threads[5];
    void* b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(b != MAP_FAILED);
    EXPECT_EQ(pthread_barrier_init(b, NULL, 5), 0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, meet_and_free, b), 0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  }
}

CASE(it_can_be_made_again_at_the_same_place) {
  for (int count = 1; count <= 10; ++count) meet_often(count, 20);
}

static long plain[8];

static void* publish(void* number) {
  long me = (long)number;
  for (int round = 1; round <= 300; ++round) {
    plain[me] = round;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(plain[i], round);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

CASE(what_was_written_before_is_seen_after) {
  pthread_t threads[8];
  EXPECT_EQ(pthread_barrier_init(&barrier, NULL, 8), 0);
  for (long i = 0; i < 8; ++i) {
    EXPECT_EQ(pthread_create(&threads[i], NULL, publish, (void*)i), 0);
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
}

// Two members wait for each other by what POSIX has: a mutex with a condition variable, semaphores,
// a pipe, and a pthread barrier; outermost regions, as programs do it.
#include <pthread.h>
#include <semaphore.h>

#include "expect.h"

enum { TURNS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t may_go[2];
static int turn;

static void by_condition(int me) {
  for (int i = 0; i < TURNS; ++i) {
    pthread_mutex_lock(&mutex);
    while (turn % 2 != me) pthread_cond_wait(&changed, &mutex);
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
}

static void by_semaphore(int me) {
  for (int i = 0; i < TURNS; ++i) {
    while (sem_wait(&may_go[me]) != 0) continue;
    turn++;
    sem_post(&may_go[!me]);
  }
}

static void by_pipe(int me, int ends[2][2]) {
  char byte = 0;
  for (int i = 0; i < TURNS; ++i) {
    if (me == 0) EXPECT_EQ(write(ends[0][1], &byte, 1), 1);
    EXPECT_EQ(read(ends[!me][0], &byte, 1), 1);
    if (me == 1) EXPECT_EQ(write(ends[1][1], &byte, 1), 1);
  }
}

int main(void) {
  allow_nesting();
  int ends[2][2];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 2);
  if (pipe(ends[0]) != 0 || pipe(ends[1]) != 0) return 2;
  for (int round = 0; round < 10; ++round) {
    turn = 0;
    sem_init(&may_go[0], 0, 1);
    sem_init(&may_go[1], 0, 0);
#pragma omp parallel num_threads(2)
    {
      by_condition(omp_get_thread_num());
#pragma omp barrier
      by_semaphore(omp_get_thread_num());
      by_pipe(omp_get_thread_num(), ends);
      pthread_barrier_wait(&barrier);
    }
    EXPECT_EQ(turn, 4 * TURNS);
  }
  return verdict();
}

// Members that share an OS thread wait for each other, in any order, and catch errors of their own
// by setjmp and longjmp: no jump is one out of a sibling's wait.
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdlib.h>

#include "expect.h"

enum { TEAMS = 2, MEMBERS = 8, ROUNDS = 50, REGIONS = 6 };

static struct team {
  sem_t turn[MEMBERS];
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int passed;  // under the mutex
} teams[TEAMS];
static int caught;

static __attribute__((noinline)) void fail(jmp_buf where) { longjmp(where, 1); }

static void catch_an_error(void) {
  jmp_buf here;
  if (setjmp(here) == 0) fail(here);
  add(&caught, 1);
}

// A token goes round; who had it waits until half of the members have had it in this round.
static void pass_token(struct team* team, int me) {
  for (int round = 0; round < ROUNDS; ++round) {
    if (me != 0 || round != 0) sem_wait(&team->turn[me]);
    catch_an_error();
    sem_post(&team->turn[(me + 1) % MEMBERS]);
    pthread_mutex_lock(&team->mutex);
    ++team->passed;
    pthread_cond_broadcast(&team->cond);
    while (team->passed < MEMBERS * round + MEMBERS / 2)
      pthread_cond_wait(&team->cond, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
    catch_an_error();
  }
}

int main(void) {
  for (int i = 0; i < TEAMS; ++i) {
    pthread_mutex_init(&teams[i].mutex, NULL);
    pthread_cond_init(&teams[i].cond, NULL);
    for (int j = 0; j < MEMBERS; ++j) sem_init(&teams[i].turn[j], 0, 0);
  }
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(TEAMS)
  {
    struct team* team = &teams[omp_get_thread_num()];
    for (int i = 0; i < REGIONS; ++i) {
      team->passed = 0;
#pragma omp parallel num_threads(MEMBERS)
      pass_token(team, omp_get_thread_num());
      sem_wait(&team->turn[0]);
    }
  }
  EXPECT_EQ(caught, TEAMS * REGIONS * MEMBERS * ROUNDS * 2);
  return verdict();
}

// A handler that tells of itself by a semaphore, and waits for another or spins, in a program that
// nothing shows to stop threads: also the first one, which may have come while Roost was at work.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "child.h"
#include "expect.h"

enum { PROCESSES = 40, STOPS = 5 };

static sem_t stopped, may_go_on[2];
static int numbers[2] = {0, 1};
static __thread const int* own;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;
static atomic_int finish, times_let_go;
static int spins;

static void stop(int signal) {
  (void)signal;
  int before = atomic_load(&times_let_go);
  sem_post(&stopped);
  while (spins ? atomic_load(&times_let_go) == before : sem_wait(&may_go_on[*own]) != 0) {
  }
}

static void* take_turns(void* number) {
  own = number;
  EXPECT_EQ(sem_post(&stopped), 0);
  while (!atomic_load(&finish)) {
    pthread_mutex_lock(&mutex);
    while (turn != *own && !atomic_load(&finish)) pthread_cond_wait(&condition, &mutex);
    turn = !*own;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void stop_them_at_times(void) {
  EXPECT_EQ(sem_init(&stopped, 0, 0), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(sem_init(&may_go_on[i], 0, 0), 0);
  struct sigaction action = {.sa_handler = stop};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, take_turns, &numbers[i]), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(sem_wait(&stopped), 0);
  for (int i = 0; i < STOPS; ++i) {
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(pthread_kill(threads[k], SIGUSR1), 0);
      EXPECT_EQ(sem_wait(&stopped), 0);
    }
    atomic_fetch_add(&times_let_go, 1);
    for (int k = 0; k < 2 && !spins; ++k) EXPECT_EQ(sem_post(&may_go_on[k]), 0);
  }
  pthread_mutex_lock(&mutex);
  atomic_store(&finish, 1);
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  _exit(0);
}

CASE(no_stop_is_lost) {
  for (int i = 0; i < PROCESSES; ++i) EXPECT_EQ(outcome_of(fork_child(stop_them_at_times)), 0);
}

CASE(nor_is_one_whose_handler_spins) {
  spins = 1;
  for (int i = 0; i < PROCESSES / 4; ++i) EXPECT_EQ(outcome_of(fork_child(stop_them_at_times)), 0);
}

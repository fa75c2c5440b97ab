// Threads are stopped by a signal whose handler says so by a semaphore and waits to be started
// again, as garbage collectors do, wherever they are in mutexes and conditions.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "expect.h"

enum { WORKERS = 3, STOPS = 300, START = SIGUSR2 };

static sem_t told;
static atomic_int may_go_on, finish;
static long turns[WORKERS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void stop(int signal) {
  (void)signal;
  sem_post(&told);
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, START);
  while (!atomic_load(&may_go_on)) sigsuspend(&others);
  sem_post(&told);
}
static void start(int signal) { (void)signal; }

static void* pass_turns(void* number) {
  long me = (long)number;
  while (!atomic_load(&finish)) {
    pthread_mutex_lock(&mutex);
    while (turn != me && !atomic_load(&finish)) pthread_cond_wait(&condition, &mutex);
    turn = (int)((me + 1) % WORKERS);
    ++turns[me];
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

CASE(threads_are_stopped_and_started_again) {
  sem_init(&told, 0, 0);
  struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = start;
  sigaction(START, &action, NULL);
  pthread_t threads[WORKERS];
  for (long i = 0; i < WORKERS; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, pass_turns, (void*)i), 0);
  for (int i = 0; i < STOPS; ++i) {
    atomic_store(&may_go_on, 0);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(pthread_kill(threads[t], SIGUSR1), 0);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(sem_wait(&told), 0);
    long before[WORKERS];
    for (int t = 0; t < WORKERS; ++t) before[t] = turns[t];
    usleep(i % 10);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(turns[t], before[t]);
    atomic_store(&may_go_on, 1);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(pthread_kill(threads[t], START), 0);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(sem_wait(&told), 0);
    usleep((unsigned)(20 + i % 50));
  }
  pthread_mutex_lock(&mutex);
  atomic_store(&finish, 1);
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < WORKERS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  sem_destroy(&told);
}

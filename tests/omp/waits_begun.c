// Members that have all begun wait for each other by other means than OpenMP's: those that share an
// OS thread go on all the same, although nobody can be given their parts any more. Each way of
// waiting in a region of its own, since from the second time on members may get OS threads.
// sanitized: no
// reason: it spins, and takes minutes with ThreadSanitizer
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

enum { kMany = 16 };  // members: each round takes long

static volatile int turn;  // whose it is, in all rounds
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t* posted;
static int (*pipes)[2];

static void pass_on(void) { __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST); }

static int is_mine(int i, int me, int size) { return turn == i * size + size - 1 - me; }

// The turn goes from the last member to the first, so that each carrier's order is wrong once.
#define GO_ROUND(wait, wake)                                    \
  do {                                                          \
    int size = omp_get_max_threads(), passed = 0;               \
    int rounds = size > kMany ? 1 : 3;                          \
    turn = 0;                                                   \
    _Pragma("omp parallel num_threads(size)") {                 \
      int me = omp_get_thread_num();                            \
      _Pragma("omp barrier") for (int i = 0; i < rounds; ++i) { \
        wait;                                                   \
        add(&passed, 1);                                        \
        wake;                                                   \
      }                                                         \
    }                                                           \
    EXPECT_EQ(passed, size* rounds);                            \
  } while (0)

static void by_spinning(void) { GO_ROUND(while (!is_mine(i, me, size)){}, pass_on()); }

static void by_yielding(void) { GO_ROUND(while (!is_mine(i, me, size)) sched_yield(), pass_on()); }

static void by_short_sleeps(void) { GO_ROUND(while (!is_mine(i, me, size)) usleep(10), pass_on()); }

static void by_longer_sleeps(void) {
  struct timespec time = {0, 3000000};
  GO_ROUND(while (!is_mine(i, me, size)) EXPECT_EQ(nanosleep(&time, NULL), 0), pass_on());
}

static void by_conditions(void) {
  GO_ROUND(
      {
        pthread_mutex_lock(&lock);
        while (!is_mine(i, me, size)) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
      },
      {
        pthread_mutex_lock(&lock);
        pass_on();
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
      });
}

static void by_semaphores(void) {
  int members = omp_get_max_threads();
  posted = calloc((size_t)members, sizeof *posted);
  for (int i = 0; i < members; ++i) sem_init(&posted[i], 0, i == members - 1);
  GO_ROUND(sem_wait(&posted[me]), sem_post(&posted[(me + size - 1) % size]));
  free(posted);
}

static void open_pipes(int members) {
  pipes = calloc((size_t)members, sizeof *pipes);
  for (int i = 0; i < members; ++i) EXPECT_EQ(pipe(pipes[i]), 0);
  EXPECT_EQ(write(pipes[members - 1][1], "x", 1), 1);
}

static void close_pipes(int members) {
  for (int i = 0; i < members; ++i) {
    close(pipes[i][0]);
    close(pipes[i][1]);
  }
  free(pipes);
}

static void receive(int me) {
  char byte;
  EXPECT_EQ(read(pipes[me][0], &byte, 1), 1);
}

static void send_on(int me, int size) {
  EXPECT_EQ(write(pipes[(me + size - 1) % size][1], "x", 1), 1);
}

static void by_pipes(void) {
  int members = omp_get_max_threads();
  open_pipes(members);
  GO_ROUND(receive(me), send_on(me, size));
  close_pipes(members);
}

// A program that polls must expect EINTR.
static void poll_and_receive(int me) {
  struct pollfd end = {pipes[me][0], POLLIN, 0};
  while (poll(&end, 1, -1) != 1) {
  }
  receive(me);
}

static void by_poll(void) {
  int members = omp_get_max_threads();
  open_pipes(members);
  GO_ROUND(poll_and_receive(me), send_on(me, size));
  close_pipes(members);
}

int main(void) {
  by_spinning();
  by_yielding();
  by_short_sleeps();
  by_longer_sleeps();
  by_conditions();
  by_semaphores();
  by_pipes();
  by_poll();
  return verdict();
}

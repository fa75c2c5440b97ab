// Threads in roost_block() that are stopped by a signal whose handler says so by a semaphore and
// waits for another: neither that nor their wake-ups are lost, wherever the signal meets them.
#include <semaphore.h>
#include <signal.h>

#include "api.h"

enum { ROUNDS = 1000 };

static sem_t stopped, may_go_on, unblocked;
static shared_handle handle;
static atomic_int finish;

static void stop(int signal) {
  (void)signal;
  sem_post(&stopped);
  while (sem_wait(&may_go_on) != 0) {
  }
}

static void* block_again_and_again(void* nothing) {
  atomic_store(&handle, roost_self());
  while (!atomic_load(&finish)) {
    EXPECT_EQ(roost_block(), 0);
    sem_post(&unblocked);
  }
  return nothing;
}

static void stop_thread(pthread_t thread) {
  EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
  EXPECT_EQ(sem_wait(&stopped), 0);
}

CASE(a_wake_up_for_a_stopped_thread_is_kept) {
  EXPECT_EQ(sem_init(&stopped, 0, 0), 0);
  EXPECT_EQ(sem_init(&may_go_on, 0, 0), 0);
  EXPECT_EQ(sem_init(&unblocked, 0, 0), 0);
  struct sigaction action = {.sa_handler = stop};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  pthread_t thread = start_thread(block_again_and_again, NULL);
  roost_thread blocked = handle_in(&handle);
  for (int round = 0; round < ROUNDS; ++round) {
    stop_thread(thread);
    EXPECT_EQ(roost_unblock(blocked), 0);
    EXPECT_EQ(sem_post(&may_go_on), 0);
    EXPECT_EQ(sem_wait(&unblocked), 0);
    EXPECT_EQ(roost_unblock(blocked), 0);
    stop_thread(thread);
    EXPECT_EQ(sem_post(&may_go_on), 0);
    EXPECT_EQ(sem_wait(&unblocked), 0);
  }
  atomic_store(&finish, 1);
  EXPECT_EQ(roost_unblock(blocked), 0);
  join_thread(thread);
}

// Handlers that run while a thread waits in the kernel: which calls end with EINTR, which go on,
// and handlers that jump out.
#include <setjmp.h>

#include "handled.h"
#include "kernel_waits.h"

static pid_t blocker;

static void* expect_eintr(void* row) {
  const struct wait* w = row;
  about_to_block(&blocker);
  errno = 0;
  EXPECT_EQ(w->call(), -1);
  EXPECT_EQ(errno, EINTR);
  return NULL;
}

// Sends until the thread has ended: a signal may come just before the call.
static void signal_until_over(pthread_t thread) {
  while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    usleep(100);
  }
}

static void end_with_eintr(const struct wait* w) {
  w->make();
  EXPECT_EQ(pthread_create(&waiting_thread, NULL, expect_eintr, (void*)w), 0);
  wait_until_blocked(&blocker);
  signal_until_over(waiting_thread);
  w->remove();
}

CASE(without_restart_the_call_ends) {
  handle(count, 0);
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    if (w->on_signal != GOES_ON) end_with_eintr(w);
  }
}

CASE(some_calls_end_also_with_restart) {
  handle(count, SA_RESTART);
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    if (w->on_signal == ENDS) end_with_eintr(w);
  }
}

static void* wait_there(void* row) {
  const struct wait* w = row;
  about_to_block(&blocker);
  EXPECT_EQ(w->call(), w->result);
  return NULL;
}

CASE(with_restart_the_others_go_on) {
  handle(count, SA_RESTART);
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    if (w->on_signal == ENDS) continue;
    w->make();
    EXPECT_EQ(pthread_create(&waiting_thread, NULL, wait_there, (void*)w), 0);
    wait_until_blocked(&blocker);
    for (int s = 0; s < 3; ++s) interrupt(waiting_thread);
    EXPECT_EQ(pthread_tryjoin_np(waiting_thread, NULL), EBUSY);
    w->satisfy();
    EXPECT_EQ(pthread_join(waiting_thread, NULL), 0);
    w->remove();
  }
}

static sigset_t all_but_usr1(void) {
  sigset_t set;
  sigfillset(&set);
  sigdelset(&set, SIGUSR1);
  return set;
}

static long wait_with_mask(int how, const sigset_t* mask) {
  struct pollfd fd = {waiter, POLLIN, 0};
  struct epoll_event event;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(waiter, &set);
  switch (how) {
    case 0:
      return ppoll(&fd, 1, NULL, mask);
    case 1:
      return pselect(waiter + 1, &set, NULL, NULL, NULL, mask);
    case 2:
      return epoll_pwait(third, &event, 1, -1, mask);
    default:
      return sigsuspend(mask);
  }
}

// The mask counts from the very start of the call to its very end.
CASE(a_mask_lets_in_what_was_pending_before) {
  sigset_t usr1, old, mask = all_but_usr1();
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  handle(count, SA_RESTART);
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &usr1, &old), 0);
  make_epoll();
  for (int how = 0; how < 4; ++how) {
    for (int round = 0; round < 20; ++round) {
      handled = 0;
      EXPECT_EQ(raise(SIGUSR1), 0);
      EXPECT_EQ(handled, 0);
      EXPECT_ERRNO(wait_with_mask(how, &mask), EINTR);
      EXPECT_EQ(handled, 1);
      sigset_t now;
      EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
      EXPECT(sigismember(&now, SIGUSR1));
    }
  }
  close_all();
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

static void* wait_by_mask(void* how) {
  sigset_t mask = all_but_usr1();
  about_to_block(&blocker);
  EXPECT_ERRNO(wait_with_mask((int)(long)how, &mask), EINTR);
  return NULL;
}

CASE(a_mask_lets_in_what_comes_later) {
  handle(count, SA_RESTART);
  make_epoll();
  for (long how = 0; how < 4; ++how) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, wait_by_mask, (void*)how), 0);
    wait_until_blocked(&blocker);
    signal_until_over(thread);
  }
  close_all();
}

static void* pause_there(void* unused) {
  about_to_block(&blocker);
  EXPECT_ERRNO(pause(), EINTR);
  return unused;
}

CASE(pause_ends_with_a_handler) {
  handle(count, SA_RESTART);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, pause_there, NULL), 0);
  wait_until_blocked(&blocker);
  signal_until_over(thread);
}

static sigjmp_buf out;
static void jump(int number) { siglongjmp(out, number); }

static void* jump_out(void* row) {
  const struct wait* w = row;
  for (volatile int round = 0; round < 5; ++round) {
    if (sigsetjmp(out, 1) == 0) {
      about_to_block(&blocker);
      w->call();
      EXPECT(!"the call returned");
    }
  }
  // The thread is as good as any other after that.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    sched_yield();
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  about_to_block(&blocker);
  EXPECT_EQ(w->call(), w->result);
  return NULL;
}

CASE(a_handler_may_jump_out_of_a_wait) {
  handle(jump, 0);
  const char* names[] = {"read from a pipe", "poll", "accept", "recv"};
  for (int i = 0; i < WAITS; ++i) {
    for (int k = 0; k < 4; ++k) {
      if (strcmp(waits[i].name, names[k]) != 0) continue;
      const struct wait* w = row(i);
      w->make();
      EXPECT_EQ(pthread_create(&waiting_thread, NULL, jump_out, (void*)w), 0);
      for (int round = 0; round < 5; ++round) {
        wait_until_blocked(&blocker);
        EXPECT_EQ(pthread_kill(waiting_thread, SIGUSR1), 0);
      }
      wait_until_blocked(&blocker);
      w->satisfy();
      EXPECT_EQ(pthread_join(waiting_thread, NULL), 0);
      w->remove();
    }
  }
}

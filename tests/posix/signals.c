// Signals and threads: directed ones reach their thread, undirected ones somebody who does not
// block them, waits for signals get them, timers tick.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pid_t blocker, handled_by;
static int handled, value;

static void note(int number) {
  (void)number;
  __atomic_store_n(&handled_by, gettid(), __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void note_value(int number, siginfo_t* info, void* context) {
  (void)context;
  value = info->si_value.sival_int;
  note(number);
}

static void handle(int number, int flags) {
  struct sigaction action = {.sa_handler = note, .sa_flags = flags};
  if (flags & SA_SIGINFO) action.sa_sigaction = note_value;
  EXPECT_EQ(sigaction(number, &action, NULL), 0);
  handled = 0;
  handled_by = blocker = 0;
}

static int n_handled(void) { return __atomic_load_n(&handled, __ATOMIC_SEQ_CST); }

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void join(pthread_t thread) { EXPECT_EQ(pthread_join(thread, NULL), 0); }

static sigset_t only(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  return set;
}

static void block(int how, int number) {
  sigset_t set = only(number);
  EXPECT_EQ(pthread_sigmask(how, &set, NULL), 0);
}

static sem_t stop;

static void* wait_to_stop(void* tid) {
  __atomic_store_n((pid_t*)tid, gettid(), __ATOMIC_SEQ_CST);
  about_to_block(&blocker);
  while (sem_wait(&stop) != 0) EXPECT_EQ(errno, EINTR);
  return NULL;
}

static void* spin_to_stop(void* tid) {
  __atomic_store_n((pid_t*)tid, gettid(), __ATOMIC_SEQ_CST);
  while (sem_trywait(&stop) != 0) {
  }
  return NULL;
}

CASE(a_directed_signal_reaches_its_thread) {
  handle(SIGUSR1, 0);
  EXPECT_EQ(sem_init(&stop, 0, 0), 0);
  for (int i = 0; i < 20; ++i) {
    pid_t tid = 0;
    pthread_t thread = start(i % 2 ? wait_to_stop : spin_to_stop, &tid);
    while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST)) sched_yield();
    for (int s = 0; s < 3; ++s) {
      int before = n_handled();
      EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
      while (n_handled() == before) sched_yield();
      EXPECT_EQ(handled_by, tid);
    }
    EXPECT_EQ(syscall(SYS_tgkill, getpid(), tid, 0), 0);
    EXPECT_EQ(sem_post(&stop), 0);
    join(thread);
  }
  EXPECT_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);  // to oneself: handled on return
  EXPECT_EQ(handled_by, gettid());
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(n_handled(), 62);
}

CASE(a_handler_for_one_time_is_as_it_was_set) {
  struct sigaction action = {
      .sa_handler = note, .sa_flags = SA_RESETHAND, .sa_mask = only(SIGUSR2)};
  struct sigaction found;
  EXPECT(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
  for (int i = 0; i < 3; ++i) {
    handled = 0;
    EXPECT_EQ(sigaction(SIGUSR1, &action, &found), 0);
    EXPECT(found.sa_handler == SIG_DFL);
    EXPECT_EQ(sigaction(SIGUSR1, NULL, &found), 0);
    EXPECT(found.sa_handler == note);
    EXPECT(found.sa_flags & SA_RESETHAND);
    EXPECT_EQ(sigismember(&found.sa_mask, SIGUSR2), 1);
    EXPECT_EQ(sigismember(&found.sa_mask, SIGUSR1), 0);
    EXPECT_EQ(raise(SIGUSR1), 0);
    EXPECT_EQ(n_handled(), 1);
  }
  EXPECT(__sysv_signal(SIGUSR1, note) == SIG_DFL);
  EXPECT(__sysv_signal(SIGUSR1, note) == note);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(n_handled(), 2);
  EXPECT_EQ(sigaction(SIGUSR1, NULL, &found), 0);
  EXPECT(found.sa_handler == SIG_DFL);
  errno = 0;
  EXPECT(__sysv_signal(SIGKILL, note) == SIG_ERR);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(sigaction(SIGKILL, &action, NULL), -1);
  EXPECT_EQ(errno, EINVAL);
}

CASE(numbers_are_checked) {
  EXPECT_EQ(pthread_kill(pthread_self(), 0), 0);
  EXPECT_EQ(pthread_kill(pthread_self(), -1), EINVAL);
  EXPECT_EQ(pthread_kill(pthread_self(), 1000), EINVAL);
  EXPECT_EQ(pthread_sigmask(99, &(sigset_t){0}, NULL), EINVAL);
}

static void* end_at_once(void* unused) { return unused; }

CASE(a_finished_thread_can_still_be_named) {
  handle(SIGUSR1, 0);
  for (int i = 0; i < 50; ++i) {
    pthread_t thread = start(end_at_once, NULL);
    for (int s = 0; s < i % 4; ++s) sched_yield();
    EXPECT_EQ(pthread_kill(thread, 0), 0);
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    join(thread);
    // A thread that comes after it gets none of its signals.
    int before = n_handled();
    join(start(end_at_once, NULL));
    EXPECT_EQ(n_handled(), before);
  }
}

CASE(a_blocked_signal_waits_until_it_is_unblocked) {
  handle(SIGUSR1, 0);
  block(SIG_BLOCK, SIGUSR1);
  EXPECT_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
  EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
  sigset_t pending;
  EXPECT_EQ(sigpending(&pending), 0);
  EXPECT(sigismember(&pending, SIGUSR1));
  EXPECT_EQ(n_handled(), 0);
  block(SIG_UNBLOCK, SIGUSR1);
  EXPECT(n_handled() >= 1);
}

CASE(an_undirected_signal_reaches_who_does_not_block_it) {
  handle(SIGUSR2, 0);
  EXPECT_EQ(sem_init(&stop, 0, 0), 0);
  pid_t tid = 0;
  pthread_t thread = start(wait_to_stop, &tid);
  wait_until_blocked(&blocker);
  block(SIG_BLOCK, SIGUSR2);
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(kill(getpid(), SIGUSR2), 0);
    while (n_handled() < i) sched_yield();
    EXPECT_EQ(handled_by, tid);
  }
  EXPECT_EQ(sem_post(&stop), 0);
  join(thread);
  block(SIG_UNBLOCK, SIGUSR2);
}

enum { SIGNALS = 200 };
static sem_t taken;

static void* take_signals(void* unused) {
  sigset_t set = only(SIGRTMIN);
  for (int i = 0; i < SIGNALS; ++i) {
    siginfo_t info;
    int number = 0;
    if (i % 2) {
      EXPECT_EQ(sigwait(&set, &number), 0);
      EXPECT_EQ(number, SIGRTMIN);
    } else {
      EXPECT_EQ(sigwaitinfo(&set, &info), SIGRTMIN);
      EXPECT_EQ(info.si_value.sival_int, i);
    }
    EXPECT_EQ(sem_post(&taken), 0);
  }
  return unused;
}

CASE(a_thread_can_wait_for_the_signals_of_all) {
  block(SIG_BLOCK, SIGRTMIN);
  EXPECT_EQ(sem_init(&taken, 0, 0), 0);
  pthread_t thread = start(take_signals, NULL);
  for (int i = 0; i < SIGNALS; ++i) {
    if (i % 3) {
      EXPECT_EQ(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}), 0);
    } else {
      EXPECT_EQ(pthread_sigqueue(thread, SIGRTMIN, (union sigval){.sival_int = i}), 0);
    }
    EXPECT_EQ(sem_wait(&taken), 0);
  }
  join(thread);
  block(SIG_UNBLOCK, SIGRTMIN);
}

CASE(timed_waits_for_signals) {
  sigset_t set = only(SIGUSR1);
  struct timespec time = {0, SOON_MS * 1000000}, end = soon(CLOCK_MONOTONIC);
  block(SIG_BLOCK, SIGUSR1);
  EXPECT_ERRNO(sigtimedwait(&set, NULL, &time), EAGAIN);
  EXPECT(has_passed(CLOCK_MONOTONIC, end));
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(sigtimedwait(&set, NULL, &time), SIGUSR1);
  block(SIG_UNBLOCK, SIGUSR1);
}

static void* suspend(void* unused) {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGUSR1);
  block(SIG_BLOCK, SIGUSR1);
  about_to_block(&blocker);
  EXPECT_ERRNO(sigsuspend(&all), EINTR);
  EXPECT_EQ(n_handled(), 1);
  return unused;
}

CASE(sigsuspend_ends_with_the_handler) {
  handle(SIGUSR1, 0);
  pthread_t thread = start(suspend, NULL);
  wait_until_blocked(&blocker);
  EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
  join(thread);
}

static void* compute_until(void* count) {
  while (n_handled() < (int)(intptr_t)count) {
  }
  return NULL;
}

CASE(an_interval_timer_ticks_while_threads_compute) {
  handle(SIGALRM, SA_RESTART);
  struct itimerval timer = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};
  pthread_t threads[3];
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
  for (int i = 0; i < 3; ++i) threads[i] = start(compute_until, (void*)20);
  for (int i = 0; i < 3; ++i) join(threads[i]);
  EXPECT_EQ(setitimer(ITIMER_REAL, &none, NULL), 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int expirations;

// Runs in a thread that libc starts by itself.
static void expire(union sigval value_) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  ++expirations;
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(sem_post(value_.sival_ptr), 0);
}

CASE(timer_threads_can_use_locks) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expire};
  struct itimerspec often = {{0, 1000000}, {0, 1000000}};
  event.sigev_value.sival_ptr = &taken;
  EXPECT_EQ(sem_init(&taken, 0, 0), 0);
  EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  EXPECT_EQ(timer_settime(timer, 0, &often, NULL), 0);
  for (int i = 0; i < 20; ++i) {
    while (sem_wait(&taken) != 0) EXPECT_EQ(errno, EINTR);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT(expirations > i);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  EXPECT_EQ(timer_delete(timer), 0);
}

CASE(queued_values_arrive) {
  handle(SIGRTMIN + 1, SA_SIGINFO);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){.sival_int = i}), 0);
    EXPECT_EQ(value, i);
  }
}

static char alternative[65536];
static int was_on_alternative;

static void look_at_stack(int number) {
  char here;
  was_on_alternative = &here >= alternative && &here < alternative + sizeof alternative;
  note(number);
}

static void* handle_on_own_stack(void* unused) {
  stack_t stack = {.ss_sp = alternative, .ss_size = sizeof alternative};
  EXPECT_EQ(sigaltstack(&stack, NULL), 0);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT(was_on_alternative);
  return unused;
}

CASE(handlers_run_on_the_signal_stack) {
  struct sigaction action = {.sa_handler = look_at_stack, .sa_flags = SA_ONSTACK};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  join(start(handle_on_own_stack, NULL));
}

// SIGSYS is Roost's own signal where system calls are trapped.
static volatile int after_inner;
static void send_itself_sigsys(int number) {
  EXPECT_EQ(raise(SIGSYS), 0);
  after_inner = n_handled();
  sigset_t set = only(SIGSYS);
  if (number == SIGUSR2) EXPECT_EQ(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
}
CASE(sigsys_waits_while_a_handler_blocks_it) {
  // Soak runs this under `--trap on`, where the kernel must be able to deliver it at any time.
  const char* trap = getenv("ROOST_TRAP");
  if (trap && strcmp(trap, "on") == 0) SKIP("system calls are trapped");
  struct sigaction action = {.sa_handler = send_itself_sigsys, .sa_mask = only(SIGSYS)}, old;
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  EXPECT_EQ(sigaction(SIGUSR2, &action, NULL), 0);
  handle(SIGSYS, 0);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(after_inner, 0);
  EXPECT_EQ(n_handled(), 1);
  EXPECT_EQ(raise(SIGUSR2), 0);
  EXPECT_EQ(after_inner, 1);
  EXPECT_EQ(n_handled(), 2);
  EXPECT_EQ(sigaction(SIGUSR1, NULL, &old), 0);
  EXPECT(sigismember(&old.sa_mask, SIGSYS));
  // Blocked by the thread, too: from now on Roost keeps the signal for it.
  block(SIG_BLOCK, SIGSYS);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(n_handled(), 2);
  block(SIG_UNBLOCK, SIGSYS);
  EXPECT_EQ(n_handled(), 3);
  EXPECT_EQ(sigaction(SIGUSR1, NULL, &old), 0);
  EXPECT(sigismember(&old.sa_mask, SIGSYS));
  signal(SIGUSR1, SIG_DFL);
  signal(SIGUSR2, SIG_DFL);
  signal(SIGSYS, SIG_DFL);
}

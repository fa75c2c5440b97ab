// Waits by inline system calls: results, errno, deadlines, signals, and that others run meanwhile.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "blocked.h"
#include "child.h"
#include "inline_syscall.h"
#include "library.h"

enum { kThreads = 6, kRounds = 200 };

static void start(pthread_t* thread, void* (*body)(void*), void* data) {
  EXPECT_EQ(pthread_create(thread, NULL, body, data), 0);
}
static void join(pthread_t thread) { EXPECT_EQ(pthread_join(thread, NULL), 0); }

// A turn that goes round: each thread waits for its own.
static uint32_t turn;
static void* take_turns(void* data) {
  uint32_t mine = (uint32_t)(uintptr_t)data;
  for (uint32_t round = 0; round < kRounds; ++round) {
    uint32_t wanted = round * kThreads + mine, now;
    while ((now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != wanted) {
      long result = inline_futex_wait(&turn, now, NULL);
      EXPECT(result == 0 || result == -EAGAIN);
    }
    inline_set(&turn, wanted + 1);
  }
  return NULL;
}

static void threads_take_turns(void) {
  pthread_t threads[kThreads];
  turn = 0;
  for (uintptr_t i = 0; i < kThreads; ++i) start(&threads[i], take_turns, (void*)i);
  for (int i = 0; i < kThreads; ++i) join(threads[i]);
  EXPECT_EQ(turn, kRounds * kThreads);
}

CASE(threads_that_wait_for_each_other_by_futex_all_run) { threads_take_turns(); }
CASE(so_they_do_in_threads_used_again) {
  for (int i = 0; i < 3; ++i) threads_take_turns();
}
CASE(so_they_do_in_a_forked_child) { EXPECT_EQ(outcome_in_child(threads_take_turns), 0); }

CASE(futex_results_are_the_kernels) {
  uint32_t word = 5;
  const struct timespec soon = {0, 2000000}, malformed = {0, 2000000000};
  errno = 77;
  EXPECT_EQ(inline_futex_wait(&word, 6, NULL), -EAGAIN);
  EXPECT_EQ(inline_futex_wait(&word, 5, &soon), -ETIMEDOUT);
  EXPECT_EQ(inline_futex_wait(&word, 5, &malformed), -EINVAL);
  EXPECT_EQ(inline_futex_wake(&word, 1), 0);
  EXPECT_EQ(INLINE(SYS_futex, &word, 999, 0), -ENOSYS);
  EXPECT_EQ(INLINE(SYS_futex, 8, FUTEX_WAKE, 1), -EFAULT);
  EXPECT_EQ(errno, 77);
}

static uint32_t flag;
static void* raise_flag(void* unused) {
  (void)unused;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  return NULL;
}
CASE(a_thread_that_yields_lets_the_others_run) {
  pthread_t thread;
  flag = 0;
  start(&thread, raise_flag, NULL);
  while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) EXPECT_EQ(INLINE(SYS_sched_yield), 0);
  join(thread);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
CASE(sleeps_last_as_long_as_asked) {
  const struct timespec time = {0, 3000000}, malformed = {0, -1};
  int64_t before = now_ns();
  EXPECT_EQ(INLINE(SYS_nanosleep, &time, 0), 0);
  EXPECT(now_ns() - before >= 3000000);
  before = now_ns();
  EXPECT_EQ(INLINE(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, 0), 0);
  EXPECT(now_ns() - before >= 3000000);
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  EXPECT_EQ(INLINE(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &at, 0), 0);
  EXPECT_EQ(INLINE(SYS_nanosleep, &malformed, 0), -EINVAL);
}

static void* write_soon(void* data) {
  const struct timespec time = {0, 3000000};
  EXPECT_EQ(INLINE(SYS_nanosleep, &time, 0), 0);
  EXPECT_EQ(INLINE(SYS_write, *(int*)data, "x", 1), 1);
  return NULL;
}

// Each way to wait until the first of two ends has something to read, which comes from a thread.
static void wait_by(int which, int end) {
  struct pollfd polled = {end, POLLIN, 0};
  struct timespec long_time = {100, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(end, &set);
  struct epoll_event event = {.events = EPOLLIN};
  int queue = epoll_create1(EPOLL_CLOEXEC);
  EXPECT_EQ(epoll_ctl(queue, EPOLL_CTL_ADD, end, &event), 0);
  switch (which) {
    case 0:
      EXPECT_EQ(INLINE(SYS_poll, &polled, 1, -1), 1);
      break;
    case 1:
      EXPECT_EQ(INLINE(SYS_ppoll, &polled, 1, &long_time, 0, 8), 1);
      break;
    case 2:
      EXPECT_EQ(INLINE(SYS_select, end + 1, &set, 0, 0, 0), 1);
      break;
    case 3:
      EXPECT_EQ(INLINE(SYS_pselect6, end + 1, &set, 0, 0, &long_time, 0), 1);
      break;
    case 4:
      EXPECT_EQ(INLINE(SYS_epoll_wait, queue, &event, 1, -1), 1);
      break;
    case 5:
      EXPECT_EQ(INLINE(SYS_epoll_pwait, queue, &event, 1, 100000, 0, 8), 1);
      break;
    default:
      break;  // the read itself waits
  }
  EXPECT_EQ(close(queue), 0);
  char byte = 0;
  EXPECT_EQ(INLINE(SYS_read, end, &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}
CASE(waits_for_descriptors_end_when_something_comes) {
  for (int which = 0; which < 7; ++which) {
    for (int sockets = 0; sockets < 2; ++sockets) {
      int ends[2];
      EXPECT_EQ(sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
      pthread_t thread;
      start(&thread, write_soon, &ends[1]);
      wait_by(which, ends[0]);
      join(thread);
      close(ends[0]);
      close(ends[1]);
    }
  }
}
CASE(descriptor_waits_that_do_not_wait) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
  struct pollfd polled = {ends[0], POLLIN, 0};
  char byte;
  EXPECT_EQ(INLINE(SYS_poll, &polled, 1, 0), 0);
  EXPECT_EQ(INLINE(SYS_poll, &polled, 1, 2), 0);
  EXPECT_EQ(INLINE(SYS_read, ends[0], &byte, 1), -EAGAIN);
  EXPECT_EQ(INLINE(SYS_read, -1, &byte, 1), -EBADF);
  EXPECT_EQ(INLINE(SYS_poll, 8, 1, 0), -EFAULT);
  close(ends[0]);
  close(ends[1]);
}

// A thread waits on `word`; the main thread interrupts it.
static uint32_t word;
static pid_t waiter_tid;
static long waiter_result;
static int handled;
static uint32_t handler_word;
static void count_signal(int number) {
  (void)number;
  ++handled;
}
static void wait_in_handler(int number) {
  (void)number;
  const struct timespec soon = {0, 1000000};
  EXPECT_EQ(inline_futex_wait(&handler_word, 0, &soon), -ETIMEDOUT);
  EXPECT_EQ(INLINE(SYS_sched_yield), 0);
  EXPECT_EQ(INLINE(SYS_gettid), gettid());
  ++handled;
}
static void on_signal(void (*handler)(int), int flags) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  sigfillset(&action.sa_mask);
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  handled = 0;
}
static void* wait_on_word(void* unused) {
  (void)unused;
  about_to_block(&waiter_tid);
  waiter_result = inline_futex_wait(&word, 0, NULL);
  return NULL;
}
static void interrupt_waiter(void) {
  pthread_t thread;
  word = 0;
  start(&thread, wait_on_word, NULL);
  wait_until_blocked(&waiter_tid);
  // Before it sleeps a signal would come too early to interrupt anything: again, until it is seen.
  const struct timespec pause = {0, 1000000};
  while (!__atomic_load_n(&handled, __ATOMIC_RELAXED)) {
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    nanosleep(&pause, NULL);
  }
  inline_set(&word, 1);
  join(thread);
}
CASE(a_signal_interrupts_a_futex_wait) {
  on_signal(count_signal, 0);
  interrupt_waiter();
  EXPECT(waiter_result == -EINTR || waiter_result == 0 || waiter_result == -EAGAIN);
  EXPECT(handled >= 1);
}
CASE(a_restarting_signal_does_not_end_it) {
  on_signal(count_signal, SA_RESTART);
  interrupt_waiter();
  EXPECT(waiter_result == 0 || waiter_result == -EAGAIN);
}
CASE(a_handler_may_wait_by_itself_while_it_interrupts_a_wait) {
  on_signal(wait_in_handler, SA_RESTART);
  interrupt_waiter();
  EXPECT(waiter_result == 0 || waiter_result == -EAGAIN);
}

static void* wait_on_alternate_stack(void* unused) {
  static char stack[65536];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  EXPECT_EQ(INLINE(SYS_sigaltstack, &alternate, 0), 0);
  stack_t now;
  EXPECT_EQ(sigaltstack(NULL, &now), 0);
  EXPECT(now.ss_sp == stack);
  wait_on_word(unused);
  EXPECT_EQ(INLINE(SYS_sigaltstack, 0, &now), 0);
  EXPECT(now.ss_sp == stack && now.ss_flags == 0);
  return NULL;
}
CASE(a_handler_on_an_alternate_stack_may_wait_by_itself) {
  on_signal(wait_in_handler, SA_RESTART | SA_ONSTACK);
  pthread_t thread;
  word = 0;
  start(&thread, wait_on_alternate_stack, NULL);
  wait_until_blocked(&waiter_tid);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
  inline_set(&word, 1);
  join(thread);
}

static sigjmp_buf out;
static void jump_out(int number) {
  (void)number;
  siglongjmp(out, 1);
}
CASE(a_handler_may_jump_out_of_a_read) {
  int ends[2], set[2];  // `set`: the parent can be jumped back to, however long fork() takes it
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(pipe(set), 0);
  on_signal(jump_out, 0);
  for (volatile int round = 0; round < 5; ++round) {
    volatile pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
      char byte;
      EXPECT_EQ(read(set[0], &byte, 1), 1);
      const struct timespec soon = {0, 2000000};
      nanosleep(&soon, NULL);
      kill(getppid(), SIGUSR1);
      for (;;) sleep(100);
    }
    if (sigsetjmp(out, 1) == 0) {
      char byte = 0;
      EXPECT_EQ(write(set[1], &byte, 1), 1);
      INLINE(SYS_read, ends[0], &byte, 1);
      EXPECT(!"reached");
    }
    kill(child, SIGKILL);
    EXPECT_EQ(outcome_of(child), -SIGKILL);
    EXPECT_EQ(INLINE(SYS_getpid), getpid());
    const struct timespec time = {0, 100000};
    EXPECT_EQ(INLINE(SYS_nanosleep, &time, 0), 0);
  }
  for (int end = 0; end < 2; ++end) {
    close(ends[end]);
    close(set[end]);
  }
}

static int cleaned;
static void clean(void* unused) {
  (void)unused;
  cleaned = 1;
}
static void* wait_to_be_cancelled(void* unused) {
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  pthread_cleanup_push(clean, NULL);
  for (;;) wait_on_word(unused);
  pthread_cleanup_pop(0);
  return NULL;
}
CASE(a_wait_is_cancelled_where_cancellation_is_asynchronous) {
  pthread_t thread;
  void* result;
  word = 0;
  cleaned = 0;
  start(&thread, wait_to_be_cancelled, NULL);
  wait_until_blocked(&waiter_tid);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT(cleaned);
}

// An object loaded while threads run: they use it, and wait in it for each other.
static long (*library_wait)(uint32_t*, uint32_t);
static long (*library_wake)(uint32_t*);
static uint32_t ready, door, passed;
static void* pass_door(void* unused) {
  (void)unused;
  __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
  inline_futex_wake(&ready, INT_MAX);
  inline_await_change(&door, 0);
  for (uint32_t now; (now = __atomic_load_n(&passed, __ATOMIC_ACQUIRE)) < kThreads * 10;) {
    if (__atomic_compare_exchange_n(&passed, &now, now + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      library_wake(&passed);
    else
      library_wait(&passed, now);
  }
  library_wake(&passed);
  return NULL;
}
CASE(an_object_loaded_while_threads_run_may_wait_by_itself) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) start(&threads[i], pass_door, NULL);
  for (uint32_t now; (now = __atomic_load_n(&ready, __ATOMIC_ACQUIRE)) < kThreads;)
    inline_futex_wait(&ready, now, NULL);
  void* library = open_library("inline_wait");
  library_wait = (long (*)(uint32_t*, uint32_t))symbol_in(library, "inline_wait");
  library_wake = (long (*)(uint32_t*))symbol_in(library, "inline_wake");
  inline_set(&door, 1);
  for (int i = 0; i < kThreads; ++i) join(threads[i]);
  EXPECT_EQ(passed, kThreads * 10);
}

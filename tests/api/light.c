// roost_light_threads: a small runtime of two light threads on one thread is told of their waits,
// and lets the other one run.
#include <semaphore.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "api.h"

// ---- The runtime: light threads 0 and 1, and the thread's own stack that waits for both ---------

enum { STACK = 256 * 1024 };
static ucontext_t contexts[2], own;
static char stacks[2][STACK];
static int running = -1;  // -1: the thread's own stack
static int done[2], looked[2];
static int told[8];  // events by kind
static struct roost_light* state;

static void show(int which) {
  running = which;
  state->flag = which < 0 ? 0 : done[1 - which] ? 1 : 2;
  state->self = which < 0 ? NULL : &contexts[which];
}

static int event(int what) {
  int me = running, other = 1 - me;
  ++told[what];
  if (what == ROOST_LIGHT_GOES_ON || what == ROOST_LIGHT_BLOCKS) memset(looked, 0, sizeof looked);
  if (what == ROOST_LIGHT_GOES_ON) return 0;
  looked[me] = what == ROOST_LIGHT_BLOCKS || what == ROOST_LIGHT_LOOKED;
  if (done[other] || looked[other]) return 0;
  show(other);
  swapcontext(&contexts[me], &contexts[other]);
  show(me);
  return 1;
}

static void (*mains[2])(void);
static void begin(int which) {
  mains[which]();
  done[which] = 1;
  memset(looked, 0, sizeof looked);
  int other = 1 - which;
  show(done[other] ? -1 : other);
  setcontext(done[other] ? &own : &contexts[other]);
}

static void run(void (*first)(void), void (*second)(void)) {
  mains[0] = first;
  mains[1] = second;
  memset(done, 0, sizeof done);
  memset(looked, 0, sizeof looked);
  memset(told, 0, sizeof told);
  for (int i = 0; i < 2; ++i) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = STACK;
    makecontext(&contexts[i], (void (*)(void))begin, 1, i);
  }
  static const char text[1];
  int result = roost_light_threads(event, text, text);  // none of it is waited in
  EXPECT(result == 0 || result == -EBUSY);              // of an earlier case
  state = roost_light_state();
  EXPECT(state == roost_light_state());
  show(0);
  swapcontext(&own, &contexts[0]);
  EXPECT_EQ(state->flag, 0);
}

// ---- What the light threads do ------------------------------------------------------------------

static sem_t first_may, second_may;
static int order[4], n_order;
static void note(int what) { order[n_order++ % 4] = what; }
static void prepare(void) {
  sem_init(&first_may, 0, 0);
  sem_init(&second_may, 0, 0);
  n_order = 0;
}

static void wait_for_second(void) {
  EXPECT_EQ(sem_wait(&first_may), 0);
  note(2);
}
static void wake_first(void) {
  note(1);
  EXPECT_EQ(sem_post(&first_may), 0);
}

CASE(one_that_waits_lets_the_other_run_that_wakes_it) {
  prepare();
  run(wait_for_second, wake_first);
  EXPECT_EQ(n_order, 2);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 2);
  EXPECT_EQ(told[ROOST_LIGHT_BLOCKS], 1);
  EXPECT_EQ(told[ROOST_LIGHT_GOES_ON], 1);
}

static void* wake_both(void* unused) {
  usleep(3000);
  sem_post(&second_may);
  usleep(3000);
  sem_post(&first_may);
  return unused;
}
static void wait_second(void) {
  EXPECT_EQ(sem_wait(&second_may), 0);
  note(1);
}

CASE(when_both_wait_the_thread_sleeps_and_each_is_woken_by_its_own_post) {
  prepare();
  pthread_t other = start_thread(wake_both, NULL);
  run(wait_for_second, wait_second);
  join_thread(other);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 2);
}

static void time_out(long ms) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += ms * 1000000;
  at.tv_sec += at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  EXPECT_EQ(sem_timedwait(&first_may, &at), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  note((int)ms);
}
static void time_out_late(void) { time_out(60); }
static void time_out_early(void) { time_out(3); }

CASE(waits_of_siblings_end_each_at_its_own_time) {
  prepare();
  run(time_out_late, time_out_early);
  EXPECT_EQ(order[0], 3);
  EXPECT_EQ(order[1], 60);
}

static int ends[2];
static void read_byte(void) {
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  note(2);
}
static void write_byte(void) {
  note(1);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
}

CASE(a_call_that_waits_in_the_kernel_lets_the_other_run) {
  prepare();
  EXPECT_EQ(pipe(ends), 0);
  run(read_byte, write_byte);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 2);
  close(ends[0]);
  close(ends[1]);
}

static pthread_mutex_t recursive;
static void hold_recursive(void) {
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(sem_wait(&first_may), 0);
  note(1);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
}
static void want_recursive(void) {
  EXPECT_EQ(pthread_mutex_trylock(&recursive), EBUSY);
  sem_post(&first_may);
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  note(2);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
}

CASE(a_recursive_mutex_is_held_by_one_of_them) {
  prepare();
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  run(hold_recursive, want_recursive);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 2);
}

static atomic_int flag;
static void yield_for_flag(void) {
  while (!atomic_load(&flag)) sched_yield();
  note(2);
}
static void set_flag(void) {
  note(1);
  atomic_store(&flag, 1);
}

CASE(a_yield_lets_the_other_run) {
  prepare();
  run(yield_for_flag, set_flag);
  EXPECT_EQ(order[0], 1);
  EXPECT(told[ROOST_LIGHT_SPINS] > 0);
}

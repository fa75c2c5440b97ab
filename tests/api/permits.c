// roost_block and roost_unblock: one permit a thread, taken by blocks alone, left from anywhere.
#include <signal.h>
#include <sys/mman.h>

#include "api.h"
#include "posix/child.h"

static int has_permit(void) {
  int result = roost_block_until(0);
  if (result != 0) EXPECT_EQ(result, -ETIMEDOUT);
  return result == 0;
}

CASE(without_an_unblock_there_is_no_permit) { EXPECT(!has_permit()); }

CASE(a_permit_given_before_the_block_is_taken_by_it) {
  EXPECT_EQ(roost_unblock(roost_self()), 0);
  EXPECT_EQ(roost_block(), 0);
  EXPECT(!has_permit());
}

CASE(permits_do_not_add_up) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(roost_unblock(roost_self()), 0);
  EXPECT_EQ(roost_block(), 0);
  EXPECT(!has_permit());
}

struct exchange {
  shared_handle a, b;
  long turn;  // plain on purpose: roost_unblock makes it visible
};

enum { ROUNDS = 20000 };

static void* answer(void* data) {
  struct exchange* exchange = data;
  atomic_store(&exchange->b, roost_self());
  for (long i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(roost_block(), 0);
    EXPECT_EQ(exchange->turn, 2 * i + 1);
    ++exchange->turn;
    EXPECT_EQ(roost_unblock(exchange->a), 0);
  }
  return NULL;
}

CASE(two_threads_take_turns_and_see_what_the_other_wrote) {
  struct exchange exchange = {.a = roost_self()};
  pthread_t other = start_thread(answer, &exchange);
  roost_thread b = handle_in(&exchange.b);
  for (long i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(exchange.turn, 2 * i);
    ++exchange.turn;
    EXPECT_EQ(roost_unblock(b), 0);
    EXPECT_EQ(roost_block(), 0);
  }
  join_thread(other);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

struct sleeper {
  shared_handle handle;
  atomic_int waits;
  int released;
};

static void* wait_on_condition(void* data) {
  struct sleeper* sleeper = data;
  pthread_mutex_lock(&mutex);
  atomic_store(&sleeper->handle, roost_self());
  atomic_store(&sleeper->waits, 1);
  while (!sleeper->released) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return has_permit() ? sleeper : NULL;
}

// The thread waits for a condition while it is given a permit, or not.
static int has_permit_after_other_wait(int give) {
  struct sleeper sleeper = {0};
  pthread_t thread = start_thread(wait_on_condition, &sleeper);
  wait_for(&sleeper.waits, 1);
  pthread_mutex_lock(&mutex);  // it waits now
  for (int i = 0; i < give; ++i) EXPECT_EQ(roost_unblock(sleeper.handle), 0);
  pthread_mutex_unlock(&mutex);
  // Time for the permit to be mistaken for the signal.
  for (int i = 0; i < 100; ++i) sched_yield();
  pthread_mutex_lock(&mutex);
  sleeper.released = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  void* result;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  return result != NULL;
}

CASE(a_wait_for_something_else_does_not_take_the_permit) {
  for (int i = 0; i < 50; ++i) EXPECT(has_permit_after_other_wait(1));
}

CASE(a_wake_up_for_something_else_leaves_no_permit) {
  for (int i = 0; i < 50; ++i) EXPECT(!has_permit_after_other_wait(0));
}

static shared_handle handler_wakes;
static void wake_from_handler(int signal) {
  (void)signal;
  roost_unblock(handler_wakes);
}

struct worker {
  shared_handle handle;
  atomic_int released, returned;
};

static void* block_once(void* data) {
  struct worker* worker = data;
  atomic_store(&worker->handle, roost_self());
  EXPECT_EQ(roost_block(), 0);
  EXPECT(atomic_load(&worker->released));
  atomic_store(&worker->returned, 1);
  return NULL;
}

CASE(a_signal_handler_may_wake_the_thread_it_interrupts) {
  struct sigaction action = {.sa_handler = wake_from_handler, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  for (int i = 0; i < 200; ++i) {
    struct worker worker = {0};
    pthread_t thread = start_thread(block_once, &worker);
    atomic_store(&handler_wakes, handle_in(&worker.handle));
    atomic_store(&worker.released, 1);
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    join_thread(thread);
  }
}

static void do_nothing(int signal) { (void)signal; }

CASE(a_signal_does_not_end_a_block) {
  struct sigaction action = {.sa_handler = do_nothing};
  EXPECT_EQ(sigaction(SIGUSR2, &action, NULL), 0);
  struct worker worker = {0};
  pthread_t thread = start_thread(block_once, &worker);
  roost_thread handle = handle_in(&worker.handle);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pthread_kill(thread, SIGUSR2), 0);
    sched_yield();
  }
  EXPECT_EQ(atomic_load(&worker.returned), 0);
  atomic_store(&worker.released, 1);
  EXPECT_EQ(roost_unblock(handle), 0);
  join_thread(thread);
}

static atomic_int calls, calls_seen;
static shared_handle counter;

static void call(int signal) {
  (void)signal;
  atomic_fetch_add(&calls, 1);
  roost_unblock(counter);
}

static void* count_calls(void* wanted) {
  atomic_store(&counter, roost_self());
  while (atomic_load(&calls_seen) < *(int*)wanted) {
    EXPECT_EQ(roost_block(), 0);
    atomic_store(&calls_seen, atomic_load(&calls));
  }
  return NULL;
}

static void* yield_until_seen(void* wanted) {
  while (atomic_load(&calls_seen) < *(int*)wanted) roost_yield();
  return NULL;
}

// The handler finds the thread inside the scheduler nearly always: it only ever yields.
CASE(wake_ups_from_a_handler_that_interrupts_the_scheduler_are_not_lost) {
  static int wanted = 3000;
  struct sigaction action = {.sa_handler = call, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  pthread_t counting = start_thread(count_calls, &wanted);
  handle_in(&counter);
  pthread_t yielding[2];
  for (int i = 0; i < 2; ++i) yielding[i] = start_thread(yield_until_seen, &wanted);
  struct itimerspec often = {{0, 50000}, {0, 50000}};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  event._sigev_un._tid = gettid();
  timer_t timer;
  EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  EXPECT_EQ(timer_settime(timer, 0, &often, NULL), 0);
  yield_until_seen(&wanted);
  EXPECT_EQ(timer_delete(timer), 0);
  join_thread(counting);
  for (int i = 0; i < 2; ++i) join_thread(yielding[i]);
}

static roost_thread parent;
static void wake_parent(void) {
  EXPECT(roost_self() != parent);
  EXPECT_EQ(roost_unblock(parent), 0);
}

CASE(a_process_of_the_instance_may_wake_a_thread_of_another) {
  for (int i = 0; i < 20; ++i) {
    parent = roost_self();
    pid_t child = fork_child(wake_parent);
    EXPECT_EQ(roost_block(), 0);
    EXPECT_EQ(outcome_of(child), 0);
  }
}

enum { WAKERS = 4, PASSES = 2000 };
struct crowd {
  shared_handle sleeper;
  atomic_long passes;
};

static void* pass_often(void* data) {
  struct crowd* crowd = data;
  for (int i = 0; i < PASSES; ++i) {
    atomic_fetch_add(&crowd->passes, 1);
    EXPECT_EQ(roost_unblock(crowd->sleeper), 0);
    if (i % 16 == 0) roost_yield();
  }
  return NULL;
}

CASE(no_wake_up_of_many_wakers_is_lost) {
  struct crowd crowd = {.sleeper = roost_self()};
  pthread_t wakers[WAKERS];
  for (int i = 0; i < WAKERS; ++i) wakers[i] = start_thread(pass_often, &crowd);
  while (atomic_load(&crowd.passes) < WAKERS * PASSES) EXPECT_EQ(roost_block(), 0);
  for (int i = 0; i < WAKERS; ++i) join_thread(wakers[i]);
  has_permit();
}

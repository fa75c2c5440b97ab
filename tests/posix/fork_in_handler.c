// A handler that interrupts a wait forks and makes what is waited for happen: parent and child go
// on, and wait for other things afterwards.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "child.h"
#include "expect.h"

static volatile pid_t child;
static volatile sig_atomic_t happened;
static void (*make_happen)(void);

static void fork_and_go_on(int signal) {
  (void)signal;
  child = fork();
  happened = 1;
  make_happen();
}

static sem_t there, back;
static void* answer(void* unused) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sem_wait(&there), 0);
    EXPECT_EQ(sem_post(&back), 0);
  }
  return unused;
}
static void wait_for_a_thread(void) {
  pthread_t thread;
  EXPECT_EQ(sem_init(&there, 0, 0), 0);
  EXPECT_EQ(sem_init(&back, 0, 0), 0);
  EXPECT_EQ(pthread_create(&thread, NULL, answer, NULL), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sem_post(&there), 0);
    EXPECT_EQ(sem_wait(&back), 0);
  }
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// The alarm is not this thread's.
static pthread_t start_partner(void* (*body)(void*)) {
  pthread_t thread;
  sigset_t alarm_alone;
  sigemptyset(&alarm_alone);
  sigaddset(&alarm_alone, SIGALRM);
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &alarm_alone, NULL), 0);
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
  EXPECT_EQ(pthread_sigmask(SIG_UNBLOCK, &alarm_alone, NULL), 0);
  return thread;
}

static void fork_at_alarms(void) {
  struct sigaction action = {.sa_handler = fork_and_go_on, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
}
static void alarm_after(int microseconds) {
  struct itimerval timer = {{0, 0}, {0, microseconds}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void both_go_on_from(void (*wait)(void), void (*with)(void)) {
  make_happen = with;
  happened = 0;
  fork_at_alarms();
  alarm_after(20000);
  wait();
  EXPECT(happened);
  wait_for_a_thread();
  if (child == 0) _exit(0);
  EXPECT_EQ(outcome_of(child), 0);
}

static sem_t semaphore;
static void wait_for_semaphore(void) { EXPECT_EQ(sem_wait(&semaphore), 0); }
static void post(void) { sem_post(&semaphore); }
CASE(of_a_semaphore) {
  EXPECT_EQ(sem_init(&semaphore, 0, 0), 0);
  both_go_on_from(wait_for_semaphore, post);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static void wait_for_condition(void) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  while (!happened) EXPECT_EQ(pthread_cond_wait(&condition, &mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}
static void broadcast(void) { pthread_cond_broadcast(&condition); }
CASE(of_a_condition_variable) { both_go_on_from(wait_for_condition, broadcast); }

static int ends[2];
static void wait_for_pipe(void) {
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
}
// A byte for each of the two.
static void write_to_pipe(void) { EXPECT_EQ(write(ends[1], "", 1), 1); }
CASE(of_a_pipe) {
  EXPECT_EQ(pipe(ends), 0);
  both_go_on_from(wait_for_pipe, write_to_pipe);
}

static void wait_for_signal(void) { pause(); }
static void nothing(void) {}
CASE(of_a_signal) { both_go_on_from(wait_for_signal, nothing); }

// The parent's wait goes on until the child has ended.
static void post_in_child(void) {
  if (child == 0) sem_post(&semaphore);
}
static void* post_after_child(void* unused) {
  while (!happened) usleep(1000);
  EXPECT_EQ(outcome_of(child), 0);
  EXPECT_EQ(sem_post(&semaphore), 0);
  return unused;
}
CASE(of_which_the_child_is_the_first_to_go_on) {
  make_happen = post_in_child;
  happened = 0;
  EXPECT_EQ(sem_init(&semaphore, 0, 0), 0);
  pthread_t thread = start_partner(post_after_child);
  fork_at_alarms();
  alarm_after(20000);
  wait_for_semaphore();
  if (child == 0) {
    wait_for_a_thread();
    _exit(0);
  }
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// Of a thread that wakes another all the time the handler interrupts that as well, anywhere.
static sem_t partners[2];
static void post_for_partner(void) {
  if (child == 0) sem_post(&partners[1]);
}
static atomic_int partner_ends;
static void* be_partner(void* unused) {
  while (!atomic_load(&partner_ends)) {
    EXPECT_EQ(sem_wait(&partners[0]), 0);
    EXPECT_EQ(sem_post(&partners[1]), 0);
  }
  return unused;
}
CASE(of_a_thread_that_wakes_another) {
  enum { kForks = 60 };
  make_happen = post_for_partner;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(sem_init(&partners[i], 0, 0), 0);
  pthread_t thread = start_partner(be_partner);
  fork_at_alarms();
  for (int i = 0; i < kForks; ++i) {
    happened = 0;
    alarm_after(100 + i * 37 % 400);
    while (!happened) {
      EXPECT_EQ(sem_post(&partners[0]), 0);
      EXPECT_EQ(sem_wait(&partners[1]), 0);
    }
    if (child == 0) {
      wait_for_a_thread();
      _exit(0);
    }
    EXPECT_EQ(outcome_of(child), 0);
  }
  atomic_store(&partner_ends, 1);
  EXPECT_EQ(sem_post(&partners[0]), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

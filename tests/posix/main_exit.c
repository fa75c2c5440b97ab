// pthread_exit from the main thread: the others go on, and the process ends when the last one has,
// with status 0 unless somebody says otherwise.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "blocked.h"
#include "child.h"
#include "expect.h"

static pthread_t main_thread;

static void say(const char* letter) { EXPECT_EQ(write(1, letter, 1), 1); }

static void start(void* (*body)(void*), int detached) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
  if (detached) EXPECT_EQ(pthread_detach(thread), 0);
}

// Waits until main has ended: only then it can be joined.
static void* after_main(void* argument) {
  EXPECT_EQ(pthread_join(main_thread, NULL), 0);
  say("w");
  return argument;
}

static void at_exit(void) { say("x"); }
static void cleanup(void* letter) { say(letter); }

ROLE(worker_outlives_main) {
  main_thread = pthread_self();
  atexit(at_exit);
  start(after_main, 0);
  pthread_exit(NULL);
}

CASE(process_ends_with_the_last_thread) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@worker_outlives_main", text, sizeof text), 0);
  EXPECT_EQ(strcmp(text, "wx"), 0);
}

ROLE(detached_worker_outlives_main) {
  main_thread = pthread_self();
  atexit(at_exit);
  start(after_main, 1);
  pthread_exit(NULL);
}

CASE(a_detached_thread_keeps_the_process_too) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@detached_worker_outlives_main", text, sizeof text), 0);
  EXPECT_EQ(strcmp(text, "wx"), 0);
}

ROLE(main_alone) {
  atexit(at_exit);
  pthread_exit((void*)5);  // the value is nobody's: the status is 0
}

CASE(main_alone_ends_the_process_with_zero) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@main_alone", text, sizeof text), 0);
  EXPECT_EQ(strcmp(text, "x"), 0);
}

static void* exit_with_7(void* argument) {
  EXPECT_EQ(pthread_join(main_thread, NULL), 0);
  exit(7);
  return argument;
}

ROLE(worker_exits_the_process) {
  main_thread = pthread_self();
  atexit(at_exit);
  start(exit_with_7, 0);
  pthread_exit(NULL);
}

CASE(a_worker_may_exit_the_process) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@worker_exits_the_process", text, sizeof text), 7);
  EXPECT_EQ(strcmp(text, "x"), 0);
}

static void key_destructor(void* letter) { say(letter); }

ROLE(main_cleans_up) {
  pthread_key_t key;
  main_thread = pthread_self();
  EXPECT_EQ(pthread_key_create(&key, key_destructor), 0);
  EXPECT_EQ(pthread_setspecific(key, "k"), 0);
  start(after_main, 0);
  pthread_cleanup_push(cleanup, "c");
  pthread_exit(NULL);
  pthread_cleanup_pop(0);
}

CASE(handlers_and_keys_of_main_run) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@main_cleans_up", text, sizeof text), 0);
  EXPECT_EQ(strcmp(text, "ckw"), 0);
}

static void* relay(void* left) {
  pthread_t next;
  say("n");
  if ((intptr_t)left > 1) {
    EXPECT_EQ(pthread_create(&next, NULL, relay, (void*)((intptr_t)left - 1)), 0);
    EXPECT_EQ(pthread_detach(next), 0);
  }
  return NULL;
}

static void* begin_relay(void* argument) {
  EXPECT_EQ(pthread_join(main_thread, NULL), 0);
  return relay(argument);
}

ROLE(threads_follow_each_other) {
  pthread_t thread;
  main_thread = pthread_self();
  atexit(at_exit);
  EXPECT_EQ(pthread_create(&thread, NULL, begin_relay, (void*)5), 0);
  pthread_exit(NULL);
}

CASE(threads_created_after_main_count_as_well) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@threads_follow_each_other", text, sizeof text), 0);
  EXPECT_EQ(strcmp(text, "nnnnnx"), 0);
}

static pid_t blocked_tid;
static sem_t never;

static void* cancel_soon(void* victim) {
  wait_until_blocked(&blocked_tid);
  EXPECT_EQ(pthread_join(main_thread, NULL), 0);
  EXPECT_EQ(pthread_cancel(*(pthread_t*)victim), 0);
  return NULL;
}

static void* block_for_ever(void* argument) {
  about_to_block(&blocked_tid);
  for (;;) sem_wait(&never);
  return argument;
}

ROLE(last_thread_is_cancelled) {
  static pthread_t victim, canceller;
  main_thread = pthread_self();
  atexit(at_exit);
  EXPECT_EQ(sem_init(&never, 0, 0), 0);
  EXPECT_EQ(pthread_create(&victim, NULL, block_for_ever, NULL), 0);
  EXPECT_EQ(pthread_create(&canceller, NULL, cancel_soon, &victim), 0);
  pthread_exit(NULL);
}

CASE(a_cancelled_last_thread_ends_the_process) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@last_thread_is_cancelled", text, sizeof text), 0);
  EXPECT_EQ(strcmp(text, "x"), 0);
}

static void* kill_process(void* argument) {
  EXPECT_EQ(pthread_join(main_thread, NULL), 0);
  EXPECT_EQ(kill(getpid(), SIGTERM), 0);
  for (;;) pause();
  return argument;
}

ROLE(killed_after_main) {
  main_thread = pthread_self();
  start(kill_process, 0);
  pthread_exit(NULL);
}

CASE(a_signal_after_main_has_ended_kills_the_process) {
  EXPECT_EQ(outcome_of_role("@killed_after_main"), -SIGTERM);
}

static void raise_in_process(void) { EXPECT_EQ(kill(getpid(), SIGTERM), 0); }

ROLE(killed_by_exit_handler) {
  main_thread = pthread_self();
  atexit(raise_in_process);
  start(after_main, 0);
  pthread_exit(NULL);
}

CASE(exit_handlers_after_the_last_thread_receive_signals) {
  EXPECT_EQ(outcome_of_role("@killed_by_exit_handler"), -SIGTERM);
}

static void forked_main_exit(void) {
  main_thread = pthread_self();
  start(after_main, 0);
  pthread_exit(NULL);
}

CASE(the_same_in_a_forked_child) { EXPECT_EQ(outcome_in_child(forked_main_exit), 0); }

// For the programs of tests/api: Roost is active when the first case runs, by `roost run` or by the
// program itself, in the instance that tests/api/run names. Threads, and what they do on one core.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "posix/expect.h"
#include "roost/roost.h"

// What the runner asks for; the same instance and cores that it gives to `roost run`.
__attribute__((unused)) static struct roost_config test_config(void) {
  struct roost_config config = {0};
  const char* cores = getenv("API_CORES");
  config.instance = getenv("API_INSTANCE");
  config.cores = cores ? (uint32_t)atoi(cores) : 0;
  return config;
}

#ifndef STARTS_BY_ITSELF
__attribute__((constructor)) static void start_roost(void) {
  expect_running = "roost_start";
  struct roost_config config = test_config();
  EXPECT_EQ(roost_start(&config), 0);
}
#endif

__attribute__((unused)) static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((unused)) static pthread_t start_thread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, run, argument), 0);
  return thread;
}

__attribute__((unused)) static void join_thread(pthread_t thread) {
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// A handle that another thread publishes.
typedef _Atomic roost_thread shared_handle;

__attribute__((unused)) static roost_thread handle_in(shared_handle* place) {
  roost_thread handle;
  while ((handle = atomic_load(place)) == ROOST_NO_THREAD) sched_yield();
  return handle;
}

__attribute__((unused)) static void wait_for(atomic_int* value, int wanted) {
  while (atomic_load(value) < wanted) sched_yield();
}

// On one core a thread that others see running has the core; on more, order is nobody's to tell.
__attribute__((unused)) static int on_one_core(void) { return roost_core_count() == 1; }

// Thread-local variables of a new thread have their initial values, however many threads ran and
// changed theirs before: of the program, large ones, and of libraries loaded and unloaded
// meanwhile.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "expect.h"
#include "library.h"

enum { LARGE = 1 << 20 };

static __thread int initialised = 1234;
static __thread int zero;
static __thread const char* pointer = "initial";
static __thread char large[LARGE];
static __thread char large_initialised[8192] = {1, 2, 3};
static __thread _Alignas(64) char aligned[64];

static void check_and_dirty(void) {
  EXPECT_EQ(initialised, 1234);
  EXPECT_EQ(zero, 0);
  EXPECT_EQ(strcmp(pointer, "initial"), 0);
  for (int i = 0; i < LARGE; i += 1024) EXPECT_EQ(large[i], 0);
  EXPECT_EQ(large[LARGE - 1], 0);
  EXPECT_EQ(large_initialised[2], 3);
  EXPECT_EQ(large_initialised[8191], 0);
  EXPECT_EQ((uintptr_t)aligned % 64, 0);
  EXPECT_EQ(aligned[63], 0);
  initialised = 4321;
  zero = 1;
  pointer = "dirty";
  memset(large, 5, LARGE);
  memset(large_initialised, 6, sizeof large_initialised);
  memset(aligned, 7, sizeof aligned);
}

static void* use_storage(void* how) {
  check_and_dirty();
  if (how) pthread_exit(how);
  return how;
}

static void run(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

CASE(one_after_the_other) {
  for (int i = 0; i < 200; ++i) run(use_storage, i % 2 ? &initialised : NULL);
}

CASE(many_at_once_and_again) {
  enum { COUNT = 40 };
  for (int round = 0; round < 5; ++round) {
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; ++i) {
      EXPECT_EQ(pthread_create(&threads[i], NULL, use_storage, NULL), 0);
    }
    for (int i = 0; i < COUNT; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  }
}

static void* be_cancelled(void* argument) {
  check_and_dirty();
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  pthread_testcancel();
  return argument;
}

CASE(after_a_cancelled_thread) {
  for (int i = 0; i < 50; ++i) {
    run(be_cancelled, NULL);
    run(use_storage, NULL);
  }
}

static void* keep_storage_across_calls(void* argument) {
  check_and_dirty();
  for (int i = 0; i < 3; ++i) run(use_storage, NULL);
  EXPECT_EQ(initialised, 4321);
  EXPECT_EQ(zero, 1);
  EXPECT_EQ(large[LARGE / 2], 5);
  return argument;
}

CASE(a_thread_keeps_its_own_while_it_lives) {
  initialised = 99;
  run(keep_storage_across_calls, NULL);
  EXPECT_EQ(initialised, 99);
}

static int (*library_check_and_dirty)(void);
static int (*library_check_dirty)(void);

static void* use_library(void* argument) {
  check_and_dirty();
  EXPECT_EQ(library_check_and_dirty(), 0);
  EXPECT_EQ(library_check_dirty(), 0);
  return argument;
}

static void* load(void) {
  void* library = open_library("tls");
  *(void**)&library_check_and_dirty = symbol_in(library, "tls_check_and_dirty");
  *(void**)&library_check_dirty = symbol_in(library, "tls_check_dirty");
  return library;
}

CASE(of_a_library_loaded_after_threads_have_run) {
  for (int i = 0; i < 10; ++i) run(use_storage, NULL);
  void* library = load();
  for (int i = 0; i < 50; ++i) run(i % 3 ? use_library : use_storage, NULL);
  EXPECT_EQ(dlclose(library), 0);
}

CASE(of_a_library_loaded_again_and_again) {
  for (int i = 0; i < 10; ++i) {
    void* library = load();
    for (int j = 0; j < 3; ++j) run(use_library, NULL);
    // The main thread's own copy is fresh after each load, as the library was really unloaded.
    EXPECT_EQ(library_check_and_dirty(), 0);
    EXPECT_EQ(dlclose(library), 0);
    run(use_storage, NULL);
  }
}

static void* load_inside(void* argument) {
  void* library = load();
  EXPECT_EQ(library_check_and_dirty(), 0);
  run(use_library, NULL);
  EXPECT_EQ(library_check_dirty(), 0);
  EXPECT_EQ(dlclose(library), 0);
  return argument;
}

CASE(of_a_library_loaded_by_the_thread_itself) {
  for (int i = 0; i < 10; ++i) run(load_inside, NULL);
}

static pthread_barrier_t loaded;

static void* older_than_library(void* argument) {
  check_and_dirty();
  pthread_barrier_wait(&loaded);
  pthread_barrier_wait(&loaded);
  EXPECT_EQ(library_check_and_dirty(), 0);
  return argument;
}

CASE(threads_older_than_the_library_have_fresh_storage_too) {
  EXPECT_EQ(pthread_barrier_init(&loaded, NULL, 3), 0);
  for (int i = 0; i < 5; ++i) {
    pthread_t threads[2];
    for (int t = 0; t < 2; ++t) {
      EXPECT_EQ(pthread_create(&threads[t], NULL, older_than_library, NULL), 0);
    }
    pthread_barrier_wait(&loaded);
    void* library = load();
    pthread_barrier_wait(&loaded);
    for (int t = 0; t < 2; ++t) EXPECT_EQ(pthread_join(threads[t], NULL), 0);
    EXPECT_EQ(dlclose(library), 0);
  }
  EXPECT_EQ(pthread_barrier_destroy(&loaded), 0);
}

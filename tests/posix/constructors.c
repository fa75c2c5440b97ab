// Threads in constructors and destructors: of a library the program is linked with, of the program
// itself, and of a library loaded and unloaded at run time.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "child.h"
#include "expect.h"
#include "library.h"

const char* constructor_events(void);

static char own_events[16];
static int is_traced(void) { return getenv("POSIX_TEST_TRACE") != NULL; }

static void* note(void* letter) {
  strcat(own_events, letter);
  return NULL;
}

static void run(const char* letter) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, note, (void*)letter), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

__attribute__((constructor(101))) static void construct_early(void) { run("1"); }
__attribute__((constructor)) static void construct(void) { run("2"); }

__attribute__((destructor)) static void destruct(void) {
  run("3");
  if (is_traced()) EXPECT_EQ(write(1, own_events, strlen(own_events)), 3);
}

CASE(they_ran_before_main) {
  EXPECT_EQ(strcmp(constructor_events(), "abg"), 0);
  EXPECT_EQ(strcmp(own_events, "12"), 0);
}

ROLE(nothing) {}
ROLE(exit) { exit(3); }

static void* exit_here(void* unused) {
  exit(4);
  return unused;
}

ROLE(exit_from_thread) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, exit_here, NULL), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

CASE(destructors_of_program_and_library_run_at_exit) {
  const char* const roles[] = {"@nothing", "@exit", "@exit_from_thread"};
  const int outcomes[] = {0, 3, 4};
  EXPECT_EQ(setenv("POSIX_TEST_TRACE", "1", 1), 0);
  for (int i = 0; i < 30; ++i) {
    char text[32];
    EXPECT_EQ(outcome_and_output(roles[i % 3], text, sizeof text), outcomes[i % 3]);
    EXPECT_EQ(strcmp(text, "123abgjd"), 0);
  }
  EXPECT_EQ(unsetenv("POSIX_TEST_TRACE"), 0);
}

static void* nothing(void* unused) { return unused; }

static void load_and_unload(void) {
  void* library = open_library("late_constructor");
  const char* (*events)(void);
  *(void**)&events = symbol_in(library, "late_constructor_events");
  EXPECT_EQ(strcmp(events(), "abg"), 0);
  EXPECT_EQ(dlclose(library), 0);
}

CASE(a_loaded_library_may_use_threads_in_both) {
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    load_and_unload();
    EXPECT_EQ(pthread_create(&thread, NULL, nothing, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

static void* load_here(void* unused) {
  load_and_unload();
  return unused;
}

CASE(also_when_a_thread_loads_it) {
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, load_here, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

CASE(threads_of_a_forked_child_see_none_of_it_again) {
  EXPECT_EQ(outcome_in_child(load_and_unload), 0);
}

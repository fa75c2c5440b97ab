// What dlerror() is to say after a lookup that failed survives calls that come between, in a
// process where they are the first of their kind.
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "expect.h"

static void calls_between(void) {
  int ends[2];
  char byte = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (pipe(ends) != 0) return;
  EXPECT_EQ(write(ends[1], &byte, 1), 1);
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  struct pollfd writable = {ends[1], POLLOUT, 0};
  EXPECT_EQ(poll(&writable, 1, 0), 1);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  usleep(10);
  close(ends[0]);
  close(ends[1]);
}

static void must_name(const char* name) {
  const char* error = dlerror();
  EXPECT(error && strstr(error, name));
}

ROLE(opens) {
  EXPECT(!dlopen("libno_such_library.so", RTLD_NOW));
  calls_between();
  must_name("libno_such_library.so");
}

ROLE(looks_up) {
  EXPECT(!dlsym(RTLD_DEFAULT, "no_such_function_anywhere"));
  calls_between();
  must_name("no_such_function_anywhere");
}

CASE(after_dlopen) { EXPECT_EQ(outcome_of_role("@opens"), 0); }
CASE(after_dlsym) { EXPECT_EQ(outcome_of_role("@looks_up"), 0); }

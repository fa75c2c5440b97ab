// A program that is not linked with Roost uses it where `roost run` brings it.
#define ROOST_OPTIONAL
#include <pthread.h>
#include <stdlib.h>

#include "posix/expect.h"
#include "roost/roost.h"

static int is_there(void) { return roost_active && roost_active(); }

CASE(it_is_there_under_roost_run_alone) { EXPECT_EQ(is_there(), getenv("ROOST_INSTANCE") != NULL); }

static void* wake(void* handle) {
  EXPECT_EQ(roost_unblock(*(roost_thread*)handle), 0);
  return NULL;
}

CASE(what_is_there_works) {
  if (!is_there()) SKIP("not started by roost run");
  roost_thread self = roost_self();
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, wake, &self), 0);
  EXPECT_EQ(roost_block(), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// Mutexes of every kind, for the programs that require the same of all of them.
#pragma once

#include <pthread.h>

#include "expect.h"

struct mutex_kind {
  const char* name;
  int type;
  int robust;    // PTHREAD_MUTEX_STALLED or _ROBUST
  int protocol;  // PTHREAD_PRIO_NONE or _INHERIT
};

static const struct mutex_kind mutex_kinds[] = {
    {"normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"robust error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"robust recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
    {"inheriting error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED,
     PTHREAD_PRIO_INHERIT},
    {"inheriting recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
    {"inheriting robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT},
};
enum { MUTEX_KINDS = sizeof mutex_kinds / sizeof *mutex_kinds };

__attribute__((unused)) static void init_mutex(pthread_mutex_t* mutex,
                                               const struct mutex_kind* kind, int shared) {
  pthread_mutexattr_t attr;
  EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
  EXPECT_EQ(pthread_mutexattr_settype(&attr, kind->type), 0);
  EXPECT_EQ(pthread_mutexattr_setrobust(&attr, kind->robust), 0);
  EXPECT_EQ(pthread_mutexattr_setprotocol(&attr, kind->protocol), 0);
  EXPECT_EQ(pthread_mutexattr_setpshared(&attr, shared), 0);
  EXPECT_EQ(pthread_mutex_init(mutex, &attr), 0);
  EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
}

// Runs a body once for each kind; a failed check says which.
#define FOR_EACH_MUTEX_KIND(kind)                                                             \
  for (const struct mutex_kind* kind = mutex_kinds; kind < mutex_kinds + MUTEX_KINDS; ++kind) \
    if (dprintf(1, "  %s\n", kind->name))

// Old programs are bound to old versions of symbols: these exist, and they still work.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

#include "expect.h"

#if defined(__x86_64__)
#define BASE "GLIBC_2.2.5"
#else
#define BASE "GLIBC_2.17"
#endif

static void* find(const char* name, const char* version) {
  void* symbol = dlvsym(RTLD_DEFAULT, name, version);
  if (!symbol) expect_fail(name, 0, version);
  return symbol;
}

// Calls a function of that version, all of whose arguments are integers or pointers.
#define CALL(name, version, ...) ((long (*)())find(name, version))(__VA_ARGS__)

CASE(the_versions_programs_are_bound_to_exist) {
  static const char* const names[] = {
      "pthread_create",
      "pthread_join",
      "pthread_detach",
      "pthread_exit",
      "pthread_cancel",
      "pthread_mutex_lock",
      "pthread_mutex_trylock",
      "pthread_mutex_timedlock",
      "pthread_mutex_unlock",
      "pthread_cond_wait",
      "pthread_cond_timedwait",
      "pthread_cond_signal",
      "pthread_cond_broadcast",
      "pthread_cond_init",
      "pthread_cond_destroy",
      "pthread_rwlock_rdlock",
      "pthread_rwlock_wrlock",
      "pthread_rwlock_unlock",
      "pthread_barrier_wait",
      "pthread_spin_lock",
      "pthread_key_create",
      "pthread_setspecific",
      "pthread_getspecific",
      "pthread_once",
      "sem_wait",
      "sem_trywait",
      "sem_timedwait",
      "sem_post",
      "sem_init",
      "nanosleep",
      "sleep",
      "usleep",
      "sched_yield",
      "syscall",
  };
  for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
    find(names[i], BASE);
    EXPECT(dlsym(RTLD_DEFAULT, names[i]));
  }
}

static void* nothing(void* argument) { return argument; }

CASE(threads_by_the_base_version) {
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    void* result = NULL;
    EXPECT_EQ((int)CALL("pthread_create", BASE, &thread, NULL, nothing, &thread), 0);
    EXPECT_EQ((int)CALL("pthread_join", BASE, thread, &result), 0);
    EXPECT(result == &thread);
  }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int turn;

#if defined(__x86_64__)

// What pthread_cond_t was before glibc 2.3.2: a pointer, to be followed by the library.
static union {
  void* first_word;
  pthread_cond_t room;
} old_cond;

static int old_cond_call(const char* name) { return (int)CALL(name, BASE, &old_cond); }

static int old_cond_wait(void) { return (int)CALL("pthread_cond_wait", BASE, &old_cond, &mutex); }

static void* take_turns_the_old_way(void* me) {
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (turn != (me != NULL)) EXPECT_EQ(old_cond_wait(), 0);
    turn = !turn;
    EXPECT_EQ(old_cond_call(i % 2 ? "pthread_cond_signal" : "pthread_cond_broadcast"), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return NULL;
}

CASE(condition_variables_of_the_base_version) {
  for (int by_init = 0; by_init < 2; ++by_init) {
    pthread_t threads[2];
    memset(&old_cond, 0, sizeof old_cond);
    memset((char*)&old_cond + sizeof(void*), 0x5a, sizeof old_cond - sizeof(void*));
    if (by_init) EXPECT_EQ((int)CALL("pthread_cond_init", BASE, &old_cond, NULL), 0);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(pthread_create(&threads[i], NULL, take_turns_the_old_way, i ? &turn : NULL), 0);
    }
    for (int i = 0; i < 2; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    // Nothing beyond the pointer is the library's.
    const unsigned char* room = (const unsigned char*)&old_cond;
    for (unsigned i = sizeof(void*); i < sizeof old_cond; ++i) EXPECT_EQ(room[i], 0x5a);
    EXPECT_EQ(old_cond_call("pthread_cond_destroy"), 0);
  }
}

CASE(timed_waits_of_the_base_version) {
  struct timespec at;
  memset(&old_cond, 0, sizeof old_cond);
  clock_gettime(CLOCK_REALTIME, &at);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ((int)CALL("pthread_cond_timedwait", BASE, &old_cond, &mutex, &at), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(old_cond_call("pthread_cond_destroy"), 0);
}

CASE(affinity_before_it_had_a_size) {
  // sched_getaffinity(pid, set): the size was 128 bytes.
  cpu_set_t old, now;
  memset(&old, 0, sizeof old);
  CPU_ZERO(&now);
  EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
  EXPECT((int)CALL("sched_getaffinity", "GLIBC_2.3.3", 0, &old, (size_t)1) >= 0);
  EXPECT(CPU_EQUAL(&old, &now));
  EXPECT_EQ((int)CALL("sched_setaffinity", "GLIBC_2.3.3", 0, &old, (size_t)1), 0);
  memset(&old, 0, sizeof old);
  EXPECT_EQ((int)CALL("pthread_getaffinity_np", "GLIBC_2.3.3", pthread_self(), &old, (size_t)1), 0);
  EXPECT(CPU_EQUAL(&old, &now));
}

#endif

CASE(condition_variables_of_the_present_version) {
#if defined(__x86_64__)
  EXPECT(dlsym(RTLD_DEFAULT, "pthread_cond_wait") == find("pthread_cond_wait", "GLIBC_2.3.2"));
  EXPECT(dlsym(RTLD_DEFAULT, "pthread_cond_wait") != find("pthread_cond_wait", BASE));
#endif
  EXPECT(dlsym(RTLD_DEFAULT, "pthread_cond_wait") == (void*)(uintptr_t)pthread_cond_wait);
}

CASE(semaphores_of_the_base_version) {
  sem_t sem;
  EXPECT_EQ((int)CALL("sem_init", BASE, &sem, 0, 1), 0);
  EXPECT_EQ((int)CALL("sem_wait", BASE, &sem), 0);
  EXPECT_EQ((int)CALL("sem_trywait", BASE, &sem), -1);
  EXPECT_EQ((int)CALL("sem_post", BASE, &sem), 0);
  EXPECT_EQ((int)CALL("sem_destroy", BASE, &sem), 0);
}

CASE(calls_that_headers_no_longer_name) { EXPECT_EQ((int)CALL("pthread_yield", BASE), 0); }

CASE(what_does_not_exist_is_not_found) {
  EXPECT(dlvsym(RTLD_DEFAULT, "pthread_no_such_call", BASE) == NULL);
}

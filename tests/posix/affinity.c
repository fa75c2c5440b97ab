// CPU affinity as programs use it: what was set is what is returned, threads inherit it, attributes
// override it, images that are executed find it, and a thread that has ended leaves none to the
// next.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "child.h"
#include "expect.h"

extern char** environ;

static cpu_set_t whole;  // what this process may use
static int first_cpu;

static void prepare(void) {
  CPU_ZERO(&whole);
  EXPECT_EQ(sched_getaffinity(0, sizeof whole, &whole), 0);
  for (first_cpu = 0; !CPU_ISSET(first_cpu, &whole); ++first_cpu) {
  }
}

static void run(const pthread_attr_t* attr, void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, attr, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static void expect_own(const cpu_set_t* wanted) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT(CPU_EQUAL(&set, wanted));
  CPU_ZERO(&set);
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof set, &set), 0);
  EXPECT(CPU_EQUAL(&set, wanted));
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(gettid(), sizeof set, &set), 0);
  EXPECT(CPU_EQUAL(&set, wanted));
  pthread_attr_t attr;
  EXPECT_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
  CPU_ZERO(&set);
  EXPECT_EQ(pthread_attr_getaffinity_np(&attr, sizeof set, &set), 0);
  EXPECT(CPU_EQUAL(&set, wanted));
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

static void* expect_set(void* wanted) {
  expect_own(wanted);
  return NULL;
}

static void* set_and_expect(void* wanted) {
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), wanted), 0);
  expect_own(wanted);
  run(NULL, expect_set, wanted);
  return NULL;
}

static cpu_set_t only_first(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(first_cpu, &set);
  return set;
}

CASE(what_was_set_is_returned) {
  prepare();
  cpu_set_t set = only_first();
  EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
  expect_own(&set);
  run(NULL, expect_set, &set);
  EXPECT_EQ(sched_setaffinity(0, sizeof whole, &whole), 0);
  expect_own(&whole);
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof set, &set), 0);
  expect_own(&set);
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof whole, &whole), 0);
  expect_own(&whole);
}

CASE(a_threads_setting_is_its_own) {
  prepare();
  cpu_set_t set = only_first();
  for (int i = 0; i < 20; ++i) {
    run(NULL, set_and_expect, &set);
    expect_own(&whole);
    run(NULL, expect_set, &whole);
  }
}

CASE(attributes_override_what_is_inherited) {
  prepare();
  cpu_set_t set = only_first(), stored;
  pthread_attr_t attr;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setaffinity_np(&attr, sizeof set, &set), 0);
  CPU_ZERO(&stored);
  EXPECT_EQ(pthread_attr_getaffinity_np(&attr, sizeof stored, &stored), 0);
  EXPECT(CPU_EQUAL(&stored, &set));
  for (int i = 0; i < 20; ++i) {
    run(&attr, expect_set, &set);
    run(NULL, expect_set, &whole);
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

static pthread_barrier_t gate;

static void* wait_twice(void* wanted) {
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  expect_own(wanted);
  return NULL;
}

CASE(one_thread_sets_it_for_another) {
  prepare();
  pthread_t thread;
  cpu_set_t set = only_first(), seen;
  EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
  EXPECT_EQ(pthread_create(&thread, NULL, wait_twice, &set), 0);
  pthread_barrier_wait(&gate);
  EXPECT_EQ(pthread_setaffinity_np(thread, sizeof set, &set), 0);
  CPU_ZERO(&seen);
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof seen, &seen), 0);
  EXPECT(CPU_EQUAL(&seen, &set));
  expect_own(&whole);
  pthread_barrier_wait(&gate);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
}

CASE(bad_arguments_are_refused) {
  prepare();
  cpu_set_t none;
  CPU_ZERO(&none);
  EXPECT_ERRNO(sched_setaffinity(0, sizeof none, &none), EINVAL);
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof none, &none), EINVAL);
  EXPECT_ERRNO(sched_getaffinity(0, 1, &none), EINVAL);
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), 1, &none), EINVAL);
  EXPECT_ERRNO(sched_setaffinity(1 << 30, sizeof whole, &whole), ESRCH);
  EXPECT_ERRNO(sched_getaffinity(1 << 30, sizeof none, &none), ESRCH);
  expect_own(&whole);
}

CASE(the_running_cpu_is_one_of_the_set) {
  prepare();
  for (int i = 0; i < 100; ++i) {
    int cpu = sched_getcpu();
    EXPECT(cpu >= 0);
    EXPECT(CPU_ISSET(cpu, &whole));
    sched_yield();
  }
}

// Memory that is not there, as strace asks to learn the size of the kernel's mask.
CASE(bad_addresses_are_refused) {
  prepare();
  cpu_set_t* const nowhere = (cpu_set_t*)8;
  EXPECT_ERRNO(sched_setaffinity(0, sizeof whole, nowhere), EFAULT);
  EXPECT_ERRNO(sched_getaffinity(0, sizeof whole, nowhere), EFAULT);
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof whole, nowhere), EFAULT);
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof whole, nowhere), EFAULT);
  EXPECT_ERRNO(syscall(SYS_sched_setaffinity, 0, sizeof whole, NULL), EFAULT);
  EXPECT_ERRNO(syscall(SYS_sched_getaffinity, 0, sizeof whole, NULL), EFAULT);
  expect_own(&whole);
}

// The system call says how large the kernel's mask is, whatever room it is given; libc clears the
// rest.
CASE(the_system_call_returns_the_size_of_the_mask) {
  unsigned long room[512];
  memset(room, 0xff, sizeof room);
  long size = syscall(SYS_sched_getaffinity, 0, sizeof room, room);
  EXPECT(size > 0 && size % sizeof *room == 0);
  EXPECT_EQ(syscall(SYS_sched_getaffinity, 0, size, room), size);
  EXPECT_EQ(room[511], ~0ul);
  EXPECT_EQ(sched_getaffinity(0, sizeof room, (cpu_set_t*)room), 0);
  EXPECT_EQ(room[511], 0);
}

ROLE(bound) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  CPU_SET(atoi(getenv("POSIX_TEST_CPU")), &wanted);
  expect_own(&wanted);
  run(NULL, expect_set, &wanted);
  for (char** entry = environ; *entry; ++entry) EXPECT(strncmp(*entry, "ROOST_AFFINITY", 14) != 0);
  exit(41);
}

static char* const bound[] = {(char*)"role", (char*)"@bound", NULL};

// glibc has it since 2.39.
typedef int pidfd_spawn_function(int* pidfd, const char* path, const posix_spawn_file_actions_t*,
                                 const posix_spawnattr_t*, char* const* argv, char* const* envp);
static void expect_bound_by_pidfd(void) {
  pidfd_spawn_function* start = (pidfd_spawn_function*)dlsym(RTLD_DEFAULT, "pidfd_spawn");
  int pidfd = -1,
      error = start ? start(&pidfd, "/proc/self/exe", NULL, NULL, bound, environ) : ENOSYS;
  if (error == ENOSYS) return;
  siginfo_t info;
  EXPECT_EQ(error, 0);
  EXPECT_EQ(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED), 0);
  EXPECT_EQ(info.si_status, 41);
  close(pidfd);
}

CASE(it_goes_to_the_next_image) {
  prepare();
  cpu_set_t set = only_first();
  char cpu[16];
  snprintf(cpu, sizeof cpu, "%d", first_cpu);
  EXPECT_EQ(setenv("POSIX_TEST_CPU", cpu, 1), 0);
  EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(outcome_of_role("@bound"), 41);
  pid_t pid;
  EXPECT_EQ(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, bound, environ), 0);
  EXPECT_EQ(outcome_of(pid), 41);
  expect_bound_by_pidfd();
  pid = vfork();
  if (pid == 0) {
    execve("/proc/self/exe", bound, environ);
    _exit(127);
  }
  EXPECT_EQ(outcome_of(pid), 41);
  EXPECT_EQ(sched_setaffinity(0, sizeof whole, &whole), 0);
}

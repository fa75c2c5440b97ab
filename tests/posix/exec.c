// exec from the main thread and from others: same process, other threads gone, exit code of the
// new program; and an exec that fails leaves everything as it was.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "blocked.h"
#include "child.h"
#include "expect.h"

extern char** environ;

static sem_t never;
static pid_t blocker;

static void* wait_for_ever(void* unused) {
  about_to_block(&blocker);
  for (;;) sem_wait(&never);
  return unused;
}

static void* spin_for_ever(void* unused) {
  for (volatile unsigned long i = 0;; ++i) {
  }
  return unused;
}

static void start(void* (*body)(void*)) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
}

static void surround_with_threads(void) {
  EXPECT_EQ(sem_init(&never, 0, 0), 0);
  for (int i = 0; i < 3; ++i) start(wait_for_ever);
  wait_until_blocked(&blocker);
  start(spin_for_ever);
}

static int n_threads(void) {
  int count = 0;
  char line[128];
  FILE* status = fopen("/proc/self/status", "re");
  EXPECT(status);
  while (fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &count);
  fclose(status);
  return count;
}

static void* do_nothing(void* unused) { return unused; }

static void use_threads(void) {
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

// Not /proc/self, which is the main thread's: it may have ended.
static void exec_role(const char* role) {
  execl("/proc/thread-self/exe", "role", role, (char*)NULL);
  _exit(127);
}

ROLE(after_exec) {
  EXPECT_EQ(getpid(), atoi(getenv("POSIX_TEST_PID")));
  EXPECT_EQ(gettid(), getpid());
  EXPECT(n_threads() < 4);  // none of the old program's five
  use_threads();
  exit(31);
}

static void remember_pid(void) {
  char text[16];
  snprintf(text, sizeof text, "%d", getpid());
  EXPECT_EQ(setenv("POSIX_TEST_PID", text, 1), 0);
}

ROLE(exec_from_main) {
  remember_pid();
  use_threads();
  surround_with_threads();
  exec_role("@after_exec");
}

CASE(from_main_while_others_run) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome_of_role("@exec_from_main"), 31);
}

static void* exec_here(void* role) {
  exec_role(role);
  return NULL;
}

ROLE(exec_from_thread) {
  pthread_t thread;
  remember_pid();
  surround_with_threads();
  EXPECT_EQ(pthread_create(&thread, NULL, exec_here, "@after_exec"), 0);
  pthread_join(thread, NULL);
  _exit(99);
}

CASE(from_a_second_thread) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome_of_role("@exec_from_thread"), 31);
}

ROLE(exec_after_main_has_ended) {
  pthread_t thread;
  remember_pid();
  EXPECT_EQ(pthread_create(&thread, NULL, exec_here, "@after_exec"), 0);
  pthread_exit(NULL);
}

CASE(from_a_thread_after_main_has_ended) {
  EXPECT_EQ(outcome_of_role("@exec_after_main_has_ended"), 31);
}

CASE(a_failing_exec_changes_nothing) {
  surround_with_threads();
  char* argv[] = {(char*)"none", NULL};
  EXPECT_ERRNO(execv("/nonexistent/program", argv), ENOENT);
  EXPECT_ERRNO(execv("/etc/passwd", argv), EACCES);
  EXPECT_ERRNO(execvp("no-such-program-anywhere", argv), ENOENT);
  use_threads();
}

static void exec_in_child(void) {
  remember_pid();
  exec_role("@after_exec");
}

CASE(in_a_forked_child) { EXPECT_EQ(outcome_in_child(exec_in_child), 31); }

ROLE(many_hops) {
  int hops = atoi(getenv("POSIX_TEST_HOPS"));
  char text[16];
  use_threads();
  if (hops == 0) exit(17);
  snprintf(text, sizeof text, "%d", hops - 1);
  EXPECT_EQ(setenv("POSIX_TEST_HOPS", text, 1), 0);
  exec_role("@many_hops");
}

CASE(again_and_again_in_one_process) {
  EXPECT_EQ(setenv("POSIX_TEST_HOPS", "10", 1), 0);
  EXPECT_EQ(outcome_of_role("@many_hops"), 17);
}

ROLE(all_forms) {
  char* argv[] = {(char*)"role", (char*)"@all_forms", NULL};
  char* environment[8] = {NULL};
  int n = 0;
  int form = getenv("POSIX_TEST_FORM") ? atoi(getenv("POSIX_TEST_FORM")) : 0;
  char next[32];
  snprintf(next, sizeof next, "POSIX_TEST_FORM=%d", form + 1);
  EXPECT_EQ(putenv(next), 0);
  use_threads();
  for (char** e = environ; *e && n < 7; ++e) {  // as much of it as whoever started us needs
    if (strncmp(*e, "POSIX_TEST_FORM=", 16) == 0) environment[n++] = *e;
  }
  switch (form) {
    case 0:
      execv("/proc/self/exe", argv);
      break;
    case 1:
      execl("/proc/self/exe", "role", "@all_forms", (char*)NULL);
      break;
    case 2:
      execle("/proc/self/exe", "role", "@all_forms", (char*)NULL, environ);
      break;
    case 3:
      execvp("/proc/self/exe", argv);
      break;
    case 4:
      execlp("/proc/self/exe", "role", "@all_forms", (char*)NULL);
      break;
    case 5:
      execvpe("/proc/self/exe", argv, environ);
      break;
    case 6:
      fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), argv, environ);
      break;
    case 7:
      execveat(AT_FDCWD, "/proc/self/exe", argv, environ, 0);
      break;
    case 8:
      execve("/proc/self/exe", argv, environment);
      break;  // hardly any environment
    default:
      exit(form);
  }
  _exit(127);
}

CASE(in_every_form) { EXPECT_EQ(outcome_of_role("@all_forms"), 9); }

ROLE(mask_after_exec) {
  sigset_t mask;
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
  exit(sigismember(&mask, SIGUSR1) ? 1 : sigismember(&mask, SIGUSR2) ? 2 : 3);
}

static void* exec_with_mask(void* unused) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
  exec_role("@mask_after_exec");
  return unused;
}

static void exec_from_masked_thread(void) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, exec_with_mask, NULL), 0);
  for (;;) pause();
}

CASE(the_signal_mask_is_the_calling_threads) {
  EXPECT_EQ(outcome_in_child(exec_from_masked_thread), 2);
}

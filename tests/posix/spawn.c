// vfork, posix_spawn, system and popen from programs with threads.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>

#include "child.h"
#include "expect.h"

extern char** environ;

static void* add_one(void* number) {
  __atomic_add_fetch((int*)number, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void use_threads(void) {
  int count = 0;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, add_one, &count), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(count, 4);
}

ROLE(work) {
  use_threads();
  exit(23);
}

static pid_t spawn_self(const posix_spawnattr_t* attr, const posix_spawn_file_actions_t* actions,
                        char* role) {
  pid_t pid = -1;
  char* argv[] = {(char*)"spawned", role, NULL};
  EXPECT_EQ(posix_spawn(&pid, "/proc/self/exe", actions, attr, argv, environ), 0);
  EXPECT(pid > 0);
  return pid;
}

CASE(spawned_programs_use_threads) {
  for (int i = 0; i < 10; ++i) {
    use_threads();
    EXPECT_EQ(outcome_of(spawn_self(NULL, NULL, "@work")), 23);
  }
}

CASE(what_cannot_be_spawned_is_told) {
  pid_t pid = -1;
  char* argv[] = {(char*)"none", NULL};
  EXPECT_EQ(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, argv, environ), ENOENT);
  EXPECT_EQ(posix_spawnp(&pid, "no-such-program-anywhere", NULL, NULL, argv, environ), ENOENT);
  EXPECT_EQ(posix_spawn(&pid, "/etc/passwd", NULL, NULL, argv, environ), EACCES);
  use_threads();
}

ROLE(expect_usr1_blocked) {
  sigset_t mask;
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
  EXPECT(sigismember(&mask, SIGUSR1));
  EXPECT(!sigismember(&mask, SIGUSR2));
  dprintf(5, "five");
}

CASE(attributes_and_file_actions) {
  posix_spawnattr_t attr;
  posix_spawn_file_actions_t actions;
  sigset_t mask;
  int ends[2];
  char text[8] = "";
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  EXPECT_EQ(posix_spawnattr_init(&attr), 0);
  EXPECT_EQ(posix_spawnattr_setsigmask(&attr, &mask), 0);
  EXPECT_EQ(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK), 0);
  EXPECT_EQ(posix_spawn_file_actions_init(&actions), 0);
  EXPECT_EQ(posix_spawn_file_actions_adddup2(&actions, ends[1], 5), 0);
  pid_t pid = spawn_self(&attr, &actions, "@expect_usr1_blocked");
  close(ends[1]);
  EXPECT_EQ(read(ends[0], text, sizeof text), 4);
  EXPECT_EQ(strcmp(text, "five"), 0);
  close(ends[0]);
  EXPECT_EQ(outcome_of(pid), 0);
  EXPECT_EQ(posix_spawn_file_actions_destroy(&actions), 0);
  EXPECT_EQ(posix_spawnattr_destroy(&attr), 0);
}

static void* spawn_often(void* unused) {
  for (int i = 0; i < 8; ++i) EXPECT_EQ(outcome_of(spawn_self(NULL, NULL, "@work")), 23);
  return unused;
}

CASE(several_threads_spawn_at_once) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, spawn_often, NULL), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static int vfork_and_exit(int status) {
  pid_t pid = vfork();
  if (pid == 0) _exit(status);
  EXPECT(pid > 0);
  return outcome_of(pid);
}

static int vfork_and_exec(const char* path) {
  pid_t pid = vfork();
  if (pid == 0) {
    execl(path, "role", "@work", (char*)NULL);
    _exit(127);
  }
  EXPECT(pid > 0);
  return outcome_of(pid);
}

CASE(vforked_children_exit_or_exec) {
  for (int i = 0; i < 10; ++i) {
    use_threads();
    EXPECT_EQ(vfork_and_exit(i), i);
    EXPECT_EQ(vfork_and_exec("/proc/self/exe"), 23);
    EXPECT_EQ(vfork_and_exec("/nonexistent/program"), 127);
  }
  use_threads();
}

static void* vfork_often(void* unused) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(vfork_and_exit(4), 4);
    EXPECT_EQ(vfork_and_exec("/proc/self/exe"), 23);
  }
  return unused;
}

CASE(several_threads_vfork_at_once) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, vfork_often, NULL), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

CASE(system_and_popen) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(system("exit 5"), 5 << 8);
    EXPECT_EQ(system("kill -TERM $$") & 0x7f, SIGTERM);
    FILE* pipe = popen("echo hello", "re");
    char line[16] = "";
    EXPECT(pipe && fgets(line, sizeof line, pipe));
    EXPECT_EQ(strcmp(line, "hello\n"), 0);
    EXPECT_EQ(pclose(pipe), 0);
    use_threads();
  }
}

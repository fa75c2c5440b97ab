// Streams of several threads: whose descriptors have the numbers of files closed before, that are
// closed as they come, and that are held while others wait for them.
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "expect.h"

enum { THREADS = 4, ROUNDS = 5 };

static void run_all(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, body, NULL), 0);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static void* read_file_then_command(void* unused) {
  char line[64];
  for (int i = 0; i < ROUNDS; ++i) {
    FILE* file = fopen("/proc/version", "re");
    EXPECT(file && fgets(line, sizeof line, file));
    EXPECT_EQ(fclose(file), 0);
    FILE* command = popen("sleep 0.005; echo here", "r");
    EXPECT(command && fgets(line, sizeof line, command));
    EXPECT_EQ(strcmp(line, "here\n"), 0);
    EXPECT_EQ(i % 2 ? pclose(command) : fclose(command), 0);
  }
  return unused;
}
CASE(a_command_has_the_number_of_a_closed_file) { run_all(read_file_then_command); }

static FILE* shared;
static atomic_int holders;  // to the compiler flockfile is no reason to look again (leaf)
static void* hold(void* unused) {
  for (int i = 0; i < ROUNDS * 10; ++i) {
    flockfile(shared);
    EXPECT_EQ(atomic_fetch_add(&holders, 1), 0);
    EXPECT_EQ(fputs("first ", shared) < 0, 0);
    usleep(200);
    EXPECT_EQ(fputs("second\n", shared) < 0, 0);
    atomic_fetch_sub(&holders, 1);
    funlockfile(shared);
  }
  return unused;
}
CASE(a_stream_is_held_across_waits) {
  char text[32];
  int lines = 0;
  shared = tmpfile();
  run_all(hold);
  rewind(shared);
  for (; fgets(text, sizeof text, shared); ++lines) EXPECT_EQ(strcmp(text, "first second\n"), 0);
  EXPECT_EQ(lines, THREADS * ROUNDS * 10);
  EXPECT_EQ(fclose(shared), 0);
}

CASE(closing_a_stream_in_memory_leaves_errno_alone) {
  char* text = NULL;
  size_t length = 0;
  FILE* grows = open_memstream(&text, &length);
  FILE* fixed = fmemopen(NULL, 10, "w");
  EXPECT(grows && fixed && fputs("here", grows) >= 0 && fputs("there", fixed) >= 0);
  errno = ENOENT;
  EXPECT_EQ(fclose(grows), 0);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(fclose(fixed), 0);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(strcmp(text, "here"), 0);
  free(text);
}

// Of all calls it may make read, write, sigreturn and exit. The stream's buffer is there already.
static void print_under_strict_seccomp(void) {
  char text[64];
  FILE* in = fopen("/proc/version", "re");
  FILE* out = fopen("/dev/null", "we");
  EXPECT(in && out && fgets(text, sizeof text, in) && fputs(text, out) >= 0);
  EXPECT_EQ(fflush(out), 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) syscall(SYS_exit, 0);  // none here
  while (fgets(text, sizeof text, in)) {
    if (fputs(text, out) < 0) syscall(SYS_exit, 1);
  }
  syscall(SYS_exit, fflush(out) ? 2 : 0);
}
CASE(under_strict_seccomp_stdio_goes_on) {
  EXPECT_EQ(outcome_in_child(print_under_strict_seccomp), 0);
}

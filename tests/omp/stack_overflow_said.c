// A light thread that runs out of stack says so in one sentence, and then the process ends as it
// would have: by SIGSEGV, or by the program's own handler. Other faults are nobody's business.
// threads: 2
// reference: no
// reason: it is about light threads
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "light.h"

enum { HANDLED = 7, NO_LIGHT_THREAD = 8 };

static int recurse(volatile char* above);
static int (*volatile deeper)(volatile char*) = recurse;
static int recurse(volatile char* above) {
  volatile char bytes[512];
  bytes[0] = above[0];
  return deeper(bytes) + bytes[0];
}

static void overflow(void) {
  volatile char start[1] = {0};
  recurse(start);
}

// Each call touches the low end of its array first, far below what the call before it touched.
static int leap(volatile char* above);
static int (*volatile further)(volatile char*) = leap;
static int leap(volatile char* above) {
  volatile char bytes[700 << 10];
  bytes[0] = above[0];
  return further(bytes) + bytes[0];
}

static void overflow_by_leaps(void) {
  volatile char start[1] = {0};
  leap(start);
}

static void fault_elsewhere(void) {
  volatile int* volatile nowhere = NULL;
  *nowhere = 1;
}

static void in_light(void (*function)(void)) {
  if (!in_light_thread(function)) _exit(NO_LIGHT_THREAD);
}

static void exit_in_handler(int signal) { _exit(signal == SIGSEGV ? HANDLED : 1); }
static void handle(void) {
  struct sigaction action = {.sa_handler = exit_in_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
}
static void nothing(void) {}

// ---- What children do ---------------------------------------------------------------------------

static void with_default(void) { in_light(overflow); }
static void with_large_arrays(void) { in_light(overflow_by_leaps); }
static void with_handler_before(void) {
  handle();
  in_light(overflow);
}
static void with_handler_after(void) {
  in_light(nothing);
  handle();
  in_light(overflow);
}
static void with_another_fault(void) { in_light(fault_elsewhere); }
static void with_another_fault_handled(void) {
  handle();
  in_light(fault_elsewhere);
}
static void with_a_signal(void) {
  in_light(nothing);
  kill(getpid(), SIGSEGV);
  pause();
}
static void with_a_signal_ignored(void) {
  signal(SIGSEGV, SIG_IGN);
  in_light(nothing);
  kill(getpid(), SIGSEGV);
  in_light(nothing);
}

// Runs it in a child. Returns how that ended, and what it said.
static int run(void (*what)(void), char* said, int room) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  pid_t child = fork();
  if (child == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    what();
    _exit(0);
  }
  close(ends[1]);
  int length = 0, got;
  while (length < room - 1 && (got = read(ends[0], said + length, room - 1 - length)) > 0)
    length += got;
  said[length] = 0;
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void expect(const char* name, void (*what)(void), int end, int sentences) {
  char said[2000];
  int seen = run(what, said, sizeof said), lines = 0, named = 0;
  for (const char* at = said; (at = strchr(at, '\n')); ++at) ++lines;
  for (const char* at = said; (at = strstr(at, "ROOST_OMP_STACKSIZE")); ++at) ++named;
  if (seen == end && lines == sentences && named == sentences) return;
  ++problems;
  fprintf(stderr, "%s: ended with %d, not %d; said %d lines: %s\n", name, seen, end, lines, said);
}
#define EXPECT_END(what, end, sentences) expect(#what, what, end, sentences)

int main(void) {
  EXPECT_END(with_default, -SIGSEGV, 1);
  EXPECT_END(with_large_arrays, -SIGSEGV, 1);
  EXPECT_END(with_handler_before, HANDLED, 1);
  EXPECT_END(with_handler_after, HANDLED, 0);
  EXPECT_END(with_another_fault, -SIGSEGV, 0);
  EXPECT_END(with_another_fault_handled, HANDLED, 0);
  EXPECT_END(with_a_signal, -SIGSEGV, 0);
  EXPECT_END(with_a_signal_ignored, 0, 0);
  return verdict();
}

// Programs end by exit, _exit, a return from main and the end of the last thread, outside and
// inside of regions, with members at work; handlers of atexit and destructors may open regions.
#include <pthread.h>
#include <sys/wait.h>

#include "expect.h"

static void at_exit(void) {
  if (members_at(3) != 3) _exit(9);
}
static __attribute__((destructor)) void at_end(void) {
  if (members_at(2) != 2) _exit(8);
}

static void* last_thread(void* unused) {
  members_at(3);
  exit(4);
  return unused;
}

static void end(const char* how) {
  atexit(at_exit);
  members_at(4);
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "_exit")) _exit(3);
  if (!strcmp(how, "in a region")) {
#pragma omp parallel num_threads(4)
    {
      if (omp_get_thread_num() == 0) _exit(3);
#pragma omp barrier
    }
  }
  if (!strcmp(how, "another thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_exit(NULL);
  }
}

static void expect_end(const char* program, const char* how, int wanted) {
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, how, NULL);
    _exit(77);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT(WIFEXITED(status));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
    fprintf(stderr, "%s: status %#x\n", how, status);
  EXPECT_EQ(WEXITSTATUS(status), wanted);
}

int main(int argc, char** argv) {
  allow_nesting();
  if (argc > 1) {
    end(argv[1]);
    return 5;
  }
  expect_end(argv[0], "return", 5);
  expect_end(argv[0], "exit", 3);
  expect_end(argv[0], "_exit", 3);
  expect_end(argv[0], "in a region", 3);
  expect_end(argv[0], "another thread", 4);
  return verdict();
}

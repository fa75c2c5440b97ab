// An entry point that the library does not know says its name, and ends the process: no silence,
// and no wrong result.
// compilers: gcc
// threads: 2
// reference: no
// flags: -ldl
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "expect.h"

static int ends_with_its_name(const char* name) {
  void (*unknown)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, name);
  int ends[2];
  EXPECT(unknown && pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    signal(SIGABRT, SIG_DFL);
    unknown();
    _exit(0);
  }
  close(ends[1]);
  char said[512] = {0};
  for (size_t length = 0; length < sizeof said - 1;) {
    ssize_t got = read(ends[0], said + length, sizeof said - 1 - length);
    if (got <= 0) break;
    length += (size_t)got;
  }
  close(ends[0]);
  int status;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, name) != NULL;
}

int main(void) {
  EXPECT(ends_with_its_name("GOMP_interop"));
  EXPECT(ends_with_its_name("__kmpc_for_collapsed_init"));
  return verdict();
}

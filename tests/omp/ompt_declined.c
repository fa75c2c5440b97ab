// Programs run without a tool where OMP_TOOL says so, and where the tool declines to be one.
//
// header: omp-tools.h
// library: support/ompt_library.c same
// threads: 2
// reference: no
// reason: libgomp has no tools, and LLVM's runtime leaves a file behind in a process that its tool
// ends
#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// In a process of its own, since a tool is looked for once. An active tool ends it with 1, as it is
// not told what to want.
static int regions_with(const char* variable, const char* value) {
  pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1);
    int members = 0;
#pragma omp parallel reduction(+ : members)
    ++members;
    exit(members == 2 ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  setenv("OMP_TOOL_LIBRARIES", argv[1], 1);
  CHECK(regions_with("OMP_TOOL", "disabled") == 0);
  CHECK(regions_with("OMPT_LIBRARY_DECLINES", "1") == 0);
  // What the other two are worth: here the tool is active.
  CHECK(regions_with("OMP_TOOL", "enabled") == 1);
  return 0;
}

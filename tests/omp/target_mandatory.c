// Where offloading is mandatory, target regions run on the host if the program wants that, and only
// then.
// compilers: gcc
// env: OMP_TARGET_OFFLOAD=mandatory
// reference: no
// reason: clang's regions run without the library; libgomp (12) takes device 0 for the host
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int runs;

// How a child ends that has a target region on the device it did not choose.
static int end_of_child(void) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);
#pragma omp target map(tofrom : runs)
    ++runs;
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

int main(void) {
  CHECK(WEXITSTATUS(end_of_child()) == 1);
#pragma omp target if (runs) map(tofrom : runs)
  ++runs;
#pragma omp target device(omp_get_initial_device()) map(tofrom : runs)
  ++runs;
  omp_set_default_device(omp_get_initial_device());
#pragma omp target map(tofrom : runs)
  ++runs;
  CHECK(runs == 3);
  CHECK(end_of_child() == 0);
  return 0;
}

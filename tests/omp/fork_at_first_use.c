// Processes fork while another thread makes their first call of OpenMP's: the child uses it, too.
// reference: no
// reason: libomp's children take locks that others held
// sanitized: no
// reason: AddressSanitizer's children hang in pthread_create if another thread was in it at the
// fork (its registry's lock); ThreadSanitizer takes the parent's thread for the child's
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static void* use_it(void* nothing) {
  omp_set_num_threads(2);
  return nothing;
}

// Its status is 0 if the child's region had its three members.
static void fork_beside_first_use(int moment) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, use_it, NULL) != 0) _exit(1);
  for (volatile int i = 0; i < moment * 1000; ++i) {
  }
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    omp_set_num_threads(3);
    int members = 0;
#pragma omp parallel
#pragma omp atomic
    members += 1;
    _exit(members != 3);
  }
  int status = 1;
  waitpid(child, &status, 0);
  pthread_join(thread, NULL);
  _exit(status != 0);
}

int main(void) {
  for (int i = 0; i < 100; ++i) {
    pid_t parent = fork();
    if (parent == 0) fork_beside_first_use(i);
    int status = 1;
    waitpid(parent, &status, 0);
    EXPECT_EQ(status, 0);
  }
  return verdict();
}

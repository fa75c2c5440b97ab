// num_threads as OpenMP 6.0 has it, by the calls that compilers make for it: a list of values for a
// region and those nested in it, and the modifier strict.
//
// compilers: clang
// threads: 2 7
// env: OMP_THREAD_LIMIT=12
// reference: no
// reason: no compiler here brings a runtime that has it
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

int __kmpc_global_thread_num(void* where);
void __kmpc_push_num_threads_list(void* where, int thread, unsigned count, const int* values);
void __kmpc_push_num_threads_strict(void* where, int thread, int threads, int severity,
                                    const char* message);
void __kmpc_push_num_threads_list_strict(void* where, int thread, unsigned count, const int* values,
                                         int severity, const char* message);
void __kmpc_fork_call(void* where, int count, void (*function)(int*, int*, ...), ...);

static int self(void) { return __kmpc_global_thread_num(NULL); }

static int sizes[4];  // by level, as its first member sees it

static void innermost(int* thread, int* bound, ...) {
  (void)thread, (void)bound;
  if (omp_get_thread_num() == 0) sizes[3] = omp_get_num_threads();
}
static void middle(int* thread, int* bound, ...) {
  (void)thread, (void)bound;
  if (omp_get_thread_num() != 0) return;
  sizes[2] = omp_get_num_threads();
  __kmpc_fork_call(NULL, 0, innermost);
}
static void outer(int* thread, int* bound, ...) {
  (void)thread, (void)bound;
  if (omp_get_thread_num() != 0) return;
  sizes[1] = omp_get_num_threads();
  __kmpc_fork_call(NULL, 0, middle);
}

static void expect_sizes(int first, int second, int third) {
  memset(sizes, 0, sizeof sizes);
  __kmpc_fork_call(NULL, 0, outer);
  EXPECT_EQ(sizes[1], first);
  EXPECT_EQ(sizes[2], second);
  EXPECT_EQ(sizes[3], third);
}

// What a region prints that asks for `threads` strictly, and how the process ends.
static int status_of(int threads, int severity, const char* message, char* said, size_t room) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    __kmpc_push_num_threads_strict(NULL, self(), threads, severity, message);
    __kmpc_fork_call(NULL, 0, innermost);
    _exit(sizes[3]);
  }
  close(ends[1]);
  ssize_t length = read(ends[0], said, room - 1);
  said[length > 0 ? length : 0] = 0;
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT(WIFEXITED(status));
  return WEXITSTATUS(status);
}

int main(void) {
  allow_nesting();
  int usual = omp_get_max_threads();
  const int values[] = {3, 2};
  // The last value is that of all further levels.
  __kmpc_push_num_threads_list(NULL, self(), 2, values);
  expect_sizes(3, 2, 2);
  // The next region knows nothing of it, nor do those in it.
  int next = usual + usual - 1 <= 12 ? usual : 12 - usual + 1;
  memset(sizes, 0, sizeof sizes);
  __kmpc_fork_call(NULL, 0, outer);
  EXPECT_EQ(sizes[1], usual);
  EXPECT_EQ(sizes[2], next);
  // A list of one value is a list.
  const int one[] = {2};
  __kmpc_push_num_threads_list(NULL, self(), 1, one);
  expect_sizes(2, 2, 2);
  // Strictly, and there are enough.
  __kmpc_push_num_threads_list_strict(NULL, self(), 2, values, 2, "not to be seen");
  expect_sizes(3, 2, 2);

  char said[400];
  EXPECT_EQ(status_of(4, 2, "enough", said, sizeof said), 4);
  EXPECT_EQ(strlen(said), 0);
  EXPECT_EQ(status_of(20, 1, "too few", said, sizeof said), 12);
  EXPECT(strstr(said,
                "warning: too few (a parallel region asks for 20 threads strictly, and gets 12)"));
  EXPECT_EQ(status_of(20, 1, NULL, said, sizeof said), 12);
  EXPECT(strstr(said, "warning: a parallel region asks for 20 threads strictly, and gets 12"));
  EXPECT_EQ(status_of(20, 2, "no", said, sizeof said), 1);
  EXPECT(strstr(said, "error: no"));
  return verdict();
}

// A thread that ends inside a region of several members, by pthread_exit or because it is
// cancelled, ends the process with one sentence, whatever kind of thread the member is on. In a
// team of one it just ends.
// threads: 2
// reference: no
// reason: libgomp and libomp wait for ever
// sanitized: no
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "expect.h"

static int cleaned_up;
static void clean_up(void* unused) {
  (void)unused;
  add(&cleaned_up, 1);
}

static void end_thread(int by_cancellation) {
  pthread_cleanup_push(clean_up, NULL);
  if (by_cancellation) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  } else {
    pthread_exit(NULL);
  }
  pthread_cleanup_pop(0);
}

static void end_member(int size, int member, int by_cancellation) {
#pragma omp parallel num_threads(size)
  {
#pragma omp barrier
    if (omp_get_thread_num() == member) end_thread(by_cancellation);
#pragma omp barrier
  }
}

// How a child ends whose member does that, and whether it said one line that names pthread_exit.
static void expect_abort(int size, int member, int by_cancellation) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  pid_t child = fork();
  if (child == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(ends[1], 2);
    close(ends[1]);
    end_member(size, member, by_cancellation);
    _exit(0);
  }
  close(ends[1]);
  FILE* said = fdopen(ends[0], "r");
  char line[400];
  int lines = 0;
  while (fgets(line, sizeof line, said)) {
    ++lines;
    EXPECT(strstr(line, "pthread_exit") != NULL);
  }
  fclose(said);
  EXPECT_EQ(lines, 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

// A thread with a team of one, and a loop in it that it leaves half-way.
static void* alone(void* by_cancellation) {
#pragma omp parallel num_threads(1)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 4; ++i)
      if (i == 2) end_thread(by_cancellation != NULL);
  }
  return &cleaned_up;
}

static void* in_full(void* unused) {
  int members = 0, sum = 0;
#pragma omp parallel num_threads(3)
  {
    add(&members, 1);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) add(&sum, i);
  }
  EXPECT_EQ(members, 3);
  EXPECT_EQ(sum, 45);
  return unused;
}

static void* join_new(void* (*function)(void*), void* argument) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, function, argument) != 0) abort();
  pthread_join(thread, &result);
  return result;
}

int main(void) {
  for (int by_cancellation = 0; by_cancellation < 2; ++by_cancellation) {
    expect_abort(2, 0, by_cancellation);
    expect_abort(2, 1, by_cancellation);
    for (int member = 0; member < 9; member += 4) expect_abort(9, member, by_cancellation);
  }
  for (int round = 0; round < 10; ++round) {
    EXPECT(join_new(alone, NULL) == NULL);
    EXPECT(join_new(alone, &cleaned_up) == PTHREAD_CANCELED);
    join_new(in_full, NULL);  // with what the others left behind
  }
  EXPECT_EQ(cleaned_up, 20);
  return verdict();
}

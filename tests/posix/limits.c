// Processes that may have little: address space for few stacks, few file descriptors. What is
// enough for the program alone is enough.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "child.h"
#include "expect.h"

static void limit(int resource, rlim_t most) {
  struct rlimit limits;
  EXPECT_EQ(getrlimit(resource, &limits), 0);
  limits.rlim_cur = most;
  EXPECT_EQ(setrlimit(resource, &limits), 0);
}

static const size_t kMegabyte = 1 << 20;

static size_t used_address_space(void) {
  FILE* file = fopen("/proc/self/statm", "re");
  size_t pages;
  EXPECT(file && fscanf(file, "%zu", &pages) == 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void* nothing(void* data) { return data; }
static void run_at_once(int count, size_t stack) {
  pthread_t threads[64];
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, stack), 0);
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(pthread_create(&threads[i], &attributes, nothing, NULL), 0);
  for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static void use_stacks_then_memory(void) {
  limit(RLIMIT_AS, used_address_space() + 800 * kMegabyte);
  run_at_once(40, 16 * kMegabyte);
  run_at_once(40, 14 * kMegabyte);
  void* memory = mmap(NULL, 600 * kMegabyte, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED);
}
CASE(stacks_of_threads_that_were_joined_take_no_address_space) {
  EXPECT_EQ(outcome_in_child(use_stacks_then_memory), 0);
}

static void* rest(void* data) {
  for (int i = 0; i < 20; ++i) usleep(1000);
  return data;
}
static void run_a_thread(void) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, rest, NULL), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}
static void run_processes_with_few_descriptors(void) {
  enum { PROCESSES = 20 };
  pid_t children[PROCESSES];
  limit(RLIMIT_NOFILE, 8);
  for (int i = 0; i < PROCESSES; ++i) children[i] = fork_child(run_a_thread);
  for (int i = 0; i < PROCESSES; ++i) EXPECT_EQ(outcome_of(children[i]), 0);
}
CASE(there_may_be_more_processes_than_each_may_have_descriptors) {
  EXPECT_EQ(outcome_in_child(run_processes_with_few_descriptors), 0);
}

// A rank of one of two jobs of four, which pass a token round by polls: FILE JOB. Its index is the
// launcher's variable. Prints "JOB CPU turns" for each CPU on which it had turns, once all eight
// have had them for half a second.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kRanks = 4, kJobs = 2, kCpus = 1024 };
static const long kRun = 500000000, kWork = 50000;  // ns

struct Shared {
  atomic_int there;
  atomic_long end;
  atomic_int token[kJobs];
};

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct Shared* share(const char* path) {
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct Shared)) != 0) return NULL;
  void* shared = mmap(NULL, sizeof(struct Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return shared == MAP_FAILED ? NULL : shared;
}

int main(int argc, char** argv) {
  const char* index = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (argc != 3 || !index) return 2;
  struct Shared* shared = share(argv[1]);
  if (!shared) return 1;
  int rank = atoi(index), job = atoi(argv[2]);
  static long turns[kCpus];

  if (atomic_fetch_add(&shared->there, 1) == kRanks * kJobs - 1)
    atomic_store(&shared->end, now() + kRun);
  while (atomic_load(&shared->end) == 0) sched_yield();
  while (now() < atomic_load(&shared->end)) {
    if (atomic_load(&shared->token[job]) % kRanks != rank) {
      sched_yield();
      continue;
    }
    for (long end = now() + kWork; now() < end;) {
    }
    ++turns[sched_getcpu()];
    atomic_fetch_add(&shared->token[job], 1);
  }

  for (int cpu = 0; cpu < kCpus; ++cpu)
    if (turns[cpu]) printf("%d %d %ld\n", job, cpu, turns[cpu]);
  return 0;
}

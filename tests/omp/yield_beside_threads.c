// scheduler: roost
// reference: no
// reason: the kernel shares the cores among all that yield
//
// Members that yield in a loop wait for siblings on their OS thread, or for threads of the program
// that have no core meanwhile: each must get its turn, whatever the others do.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "expect.h"

enum { kServers = 4, kJobs = 200, kPhases = 100, kMostMembers = 64 };

static atomic_int job_of[kServers];  // 1 + the member that wants something done, 0: none
static atomic_int done[kMostMembers];
static atomic_int arrived, members;
static atomic_bool over;

// Always has something to do for the core: it yields, but never waits in vain for one word.
static void* serve(void* number) {
  atomic_int* job = &job_of[(long)number];
  while (!atomic_load(&over)) {
    int member = atomic_exchange(job, 0);
    if (member) atomic_fetch_add(&done[member - 1], 1);
    sched_yield();
  }
  return NULL;
}

static void order(int member, int number) {
  int none = 0;
  while (!atomic_compare_exchange_weak(&job_of[number % kServers], &none, member + 1)) {
    none = 0;
    sched_yield();
  }
  while (atomic_load(&done[member]) != number) sched_yield();
}

static void meet(int members, int phase) {
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < members * phase) sched_yield();
}

int main(void) {
  pthread_t servers[kServers];
  for (long i = 0; i < kServers; ++i) pthread_create(&servers[i], NULL, serve, (void*)i);
#pragma omp parallel
  {
    int member = omp_get_thread_num();
    if (member == 0) atomic_store(&members, omp_get_num_threads());
    for (int number = 1; number <= kJobs; ++number) order(member, number);
    for (int phase = 1; phase <= kPhases; ++phase) meet(omp_get_num_threads(), phase);
  }
  atomic_store(&over, 1);
  for (int i = 0; i < kServers; ++i) pthread_join(servers[i], NULL);
  for (int i = 0; i < members; ++i) EXPECT_EQ(atomic_load(&done[i]), kJobs);
  EXPECT_EQ(atomic_load(&arrived), members * kPhases);
  return verdict();
}

// omp_pause_resource() ends the threads that have nothing to do; those that are needed later are
// new ones. Another thread has regions all the time.
//
// reference: gcc
// sanitized: address
// reason: libomp ends no threads, and crashes; ThreadSanitizer counts threads that have ended
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "expect.h"
#include "os_threads.h"

enum { kRounds = 50 };
static int stop, regions;
static int private_to_thread = 128;
#pragma omp threadprivate(private_to_thread)

static void* others(void* unused) {
  while (!look(&stop)) {
    EXPECT_EQ(members_at(3), 3);
    add(&regions, 1);
  }
  return unused;
}

int main(void) {
#pragma omp parallel num_threads(4)
  private_to_thread = 256 + omp_get_thread_num();
  int before = os_threads();
  EXPECT_EQ(omp_pause_resource(omp_pause_soft, omp_get_initial_device()), 0);
  for (int i = 0; i < 1000 && os_threads() >= before; ++i) usleep(10000);
  EXPECT_EQ(os_threads() < before, 1);
#pragma omp parallel num_threads(4)
  if (omp_get_thread_num() != 0) EXPECT_EQ(private_to_thread, 128);

  pthread_t other;
  if (pthread_create(&other, NULL, others, NULL) != 0) return 1;
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_EQ(members_at(2 + i % 7), 2 + i % 7);
    EXPECT_EQ(omp_pause_resource_all(i % 2 ? omp_pause_hard : omp_pause_soft), 0);
    if (i % 16 == 0) sched_yield();
  }
  while (look(&regions) < 3) sched_yield();
  add(&stop, 1);
  pthread_join(other, NULL);
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) EXPECT_EQ(omp_pause_resource_all(omp_pause_soft) != 0, 1);
  return verdict();
}

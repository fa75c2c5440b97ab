// A thread of the application ends right after its region, detached, while its members were on the
// same workers as others': those go on.
#include <pthread.h>
#include <sched.h>

#include "expect.h"

enum { THREADS = 200 };
static int ended;

static void* thread(void* unused) {
  allow_nesting();
  int members = 0;
#pragma omp parallel num_threads(3)
  add(&members, 1);
  EXPECT_EQ(members, 3);
  add(&ended, 1);
  return unused;
}

int main(void) {
  allow_nesting();
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  int started = 0;
  for (int i = 0; i < THREADS; ++i) {
    pthread_t other;
    if (pthread_create(&other, &detached, thread, NULL) == 0) started++;
    int members = 0;
#pragma omp parallel num_threads(4)
    {
      add(&members, 1);
#pragma omp barrier
      EXPECT_EQ(look(&members), 4);
    }
  }
  while (look(&ended) < started) sched_yield();
  return verdict();
}

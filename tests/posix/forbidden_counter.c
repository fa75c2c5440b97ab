// Programs that forbid the processor's time-stamp counter (prctl(PR_SET_TSC), as stress-ng's
// sigsegv): only what the program itself reads may fault. Their threads wait, yield, spin and
// compute.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "expect.h"

enum { kThreads = 6, kRounds = 40 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t turns;
static atomic_int arrived, round_now;
static int waiting;
static volatile double sink;

static void forbid_counter(void) { EXPECT_EQ(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0), 0); }

static void compute(void) {
  double x = 1;
  for (int i = 0; i < 300000; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

static void meet_spinning(void) {
  int round = atomic_load(&round_now);
  if (atomic_fetch_add(&arrived, 1) + 1 == kThreads) {
    atomic_store(&arrived, 0);
    atomic_store(&round_now, round + 1);
  } else {
    while (atomic_load_explicit(&round_now, memory_order_relaxed) == round) {
    }
  }
}

static void meet_sleeping(void) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  int end = (waiting / kThreads + 1) * kThreads;
  ++waiting;
  EXPECT_EQ(pthread_cond_broadcast(&changed), 0);
  while (waiting < end) EXPECT_EQ(pthread_cond_wait(&changed, &mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void* work(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    compute();
    meet_spinning();
    meet_sleeping();
    EXPECT_EQ(sem_post(&turns), 0);
    sched_yield();
    EXPECT_EQ(sem_wait(&turns), 0);
    usleep(100);
  }
  return unused;
}

CASE(threads_wait_and_are_asked) {
  forbid_counter();
  EXPECT_EQ(sem_init(&turns, 0, 0), 0);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(waiting, kThreads * kRounds);
}

#if defined(__x86_64__)
enum { kFaults = 200 };
static _Thread_local sigjmp_buf before_read;
static _Thread_local volatile int faults;

static void jump_back(int signal) { siglongjmp(before_read, signal); }

static void* read_and_fault(void* unused) {
  while (faults < kFaults) {
    if (sigsetjmp(before_read, 1) == 0) {
      __builtin_ia32_rdtsc();
      EXPECT(!"the counter was read");
    }
    ++faults;
    compute();
    if (faults % 8 == 0) sched_yield();
  }
  return unused;
}

CASE(the_program_itself_faults) {
  struct sigaction action = {.sa_handler = jump_back};
  EXPECT_EQ(sigaction(SIGSEGV, &action, NULL), 0);
  forbid_counter();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, read_and_fault, NULL), 0);
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}
#endif

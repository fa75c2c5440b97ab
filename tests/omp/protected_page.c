// sanitized: address
// reason: ThreadSanitizer holds signals back
//
// A program notes by its handler of SIGSEGV which pages change, and protects them again all the
// time, while members that share OS threads wait for each other and count there.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "expect.h"

enum { page_bytes = 4096, members = 4, rounds = 20 };

static volatile long* page;
static volatile long faults;
static int turn, done;

static void unprotect(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  if ((size_t)((char*)info->si_addr - (char*)page) >= page_bytes) _exit(7);
  ++faults;
  mprotect((void*)page, page_bytes, PROT_READ | PROT_WRITE);
}

static void* protect(void* nothing) {
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
    mprotect((void*)page, page_bytes, PROT_READ);
    for (volatile int i = 0; i < 2000; ++i) {
    }
  }
  return nothing;
}

static __attribute__((noinline)) int is_turn_of(int me) {
  __asm__ volatile("");
  return __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == me;
}

static void ring(void) {
#pragma omp parallel num_threads(members)
  {
    int me = omp_get_thread_num();
#pragma omp barrier
    for (int round = 0; round < rounds; ++round) {
      while (!is_turn_of(me)) page[me]++;
      __atomic_store_n(&turn, (me + 1) % members, __ATOMIC_RELEASE);
    }
  }
}

int main(void) {
  page = (volatile long*)mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0);
  struct sigaction action = {0};
  action.sa_sigaction = unprotect;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  EXPECT_EQ(sigaction(SIGSEGV, &action, NULL), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, protect, NULL), 0);
  allow_nesting();
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    // The thread that protects may come late.
    for (int rings = 0; rings == 0 || (faults == 0 && rings < 1000); ++rings) ring();
  }
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT(faults > 0);
  return verdict();
}

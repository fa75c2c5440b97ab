// A pool whose threads look for work in places chosen by chance, with a pause in between, and never
// sleep: no proof follows such a spin. search_work THREADS ROUNDS prints what was done. With a
// third word they pause by `tpause`, as onnxruntime on processors that have it; on others a handler
// of SIGILL takes its place.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <ucontext.h>
#endif

enum { kSlots = 16 };

static atomic_int slots[kSlots];  // 1: there is work
static atomic_int done, over;

#if defined(__x86_64__)
static int for_a_time;

static void pass_over(int signal, siginfo_t* info, void* context) {
  static const unsigned char tpause[] = {0x66, 0x0f, 0xae, 0xf1};
  greg_t* at = &((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  (void)signal, (void)info;
  // Else it has become a jump meanwhile.
  if (memcmp((void*)*at, tpause, sizeof tpause) == 0) *at += sizeof tpause;
}

static void pause_for_a_time(void) {
  struct sigaction action = {.sa_sigaction = pass_over, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  for_a_time = 1;
}

__attribute__((noinline)) static void rest_for_a_time(void) {
  unsigned low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  __asm__ volatile(".byte 0x66, 0x0f, 0xae, 0xf1" : : "a"(low + 1000), "d"(high), "c"(0) : "cc");
}

__attribute__((noinline)) static void rest(void) {
  if (for_a_time) return rest_for_a_time();
  __builtin_ia32_pause();
}
#else
static void pause_for_a_time(void) {}
static void rest(void) {}
#endif

static unsigned by_chance(unsigned* seed) {
  *seed = *seed * 1103515245u + 12345u;
  return *seed >> 16;
}

static void compute(void) {
  volatile double x = 1;
  for (int i = 0; i < 20000; ++i) x = x * 1.0000001;
}

static void* search(void* seed_of_thread) {
  unsigned* seed = seed_of_thread;
  while (!atomic_load(&over)) {
    atomic_int* slot = &slots[by_chance(seed) % kSlots];
    int there = 1;
    if (atomic_load(slot) && atomic_compare_exchange_strong(slot, &there, 0)) {
      compute();
      atomic_fetch_add(&done, 1);
    } else {
      rest();
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (argc > 3) pause_for_a_time();
  int threads = atoi(argv[1]), rounds = atoi(argv[2]);
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  unsigned* seeds = calloc((size_t)threads + 1, sizeof *seeds);
  for (int i = 0; i < threads; ++i) {
    seeds[i] = (unsigned)i;
    if (pthread_create(&ids[i], NULL, search, &seeds[i]) != 0) return 1;
  }
  for (int round = 1; round <= rounds; ++round) {
    for (int i = 0; i < kSlots; ++i) atomic_store(&slots[i], 1);
    while (atomic_load(&done) < round * kSlots) {
      by_chance(&seeds[threads]);
      rest();
    }
  }
  atomic_store(&over, 1);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  printf("%d pieces\n", atomic_load(&done));
  free(ids);
  free(seeds);
  return 0;
}

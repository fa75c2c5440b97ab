// Passes for BLIS where its threads are concerned: made for a call, joined at its end, and meeting
// at barriers that only look at memory.
#include <pthread.h>
#include <stdlib.h>

extern const char blis_variable[];
const char blis_variable[] = "BLIS_JC_NT";
long call_of_crew(long threads, long barriers, int backwards);

struct call {
  long threads, barriers;
  long arrived, sense;
  long sum;
};
struct part {
  struct call* call;
  long number;
};

// bli_thrcomm_barrier_atomic of BLIS 0.9.
static void barrier(struct call* c) {
  long sense = __atomic_load_n(&c->sense, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&c->arrived, 1, __ATOMIC_ACQ_REL) == c->threads) {
    c->arrived = 0;
    __atomic_fetch_xor(&c->sense, 1, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(&c->sense, __ATOMIC_ACQUIRE) == sense) continue;
  }
}

static void* run(void* argument) {
  struct part* part = argument;
  struct call* c = part->call;
  for (long i = 0; i < c->barriers; ++i) {
    // Each adds in its turn, so that a barrier that lets somebody pass is seen.
    for (long turn = 0; turn < c->threads; ++turn) {
      if (turn == part->number) c->sum = c->sum * 3 + turn;
      barrier(c);
    }
  }
  return part;
}

// What its threads have computed, or a negative number: which check failed.
long call_of_crew(long threads, long barriers, int backwards) {
  struct call c = {.threads = threads, .barriers = barriers};
  struct part* parts = calloc((size_t)threads, sizeof *parts);
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  if (!parts || !ids) abort();
  long failed = 0;
  for (long i = threads - 1; i >= 0; --i) {
    parts[i] = (struct part){&c, i};
    if (i && pthread_create(&ids[i], NULL, run, &parts[i]) != 0) abort();
  }
  run(&parts[0]);
  for (long k = 1; k < threads; ++k) {
    long i = backwards ? threads - k : k;
    void* result = NULL;
    if (pthread_join(ids[i], k % 2 ? &result : NULL) != 0) failed = -1;
    if (k % 2 && result != &parts[i]) failed = -2;
  }
  free(parts);
  free(ids);
  return failed ? failed : c.sum;
}

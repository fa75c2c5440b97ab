// Two threads hand a piece of work over and back, with roost_block() and roost_unblock() alone.
//
//   build/release/examples/handoff                 joins the instance "default" by itself
//   roost run -- build/release/examples/handoff    is in an instance already
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roost/roost.h"

enum { ROUNDS = 100000 };

// The work: one number, which only the thread whose turn it is touches. It needs no lock and is not
// atomic: what is written before roost_unblock() can be seen after roost_block().
static long number;
static roost_thread producer, consumer;

static void* consume(void* sum) {
  consumer = roost_self();
  roost_unblock(producer);
  for (int i = 0; i < ROUNDS; ++i) {
    roost_block();  // a permit that came first is kept: nothing is lost if we are late
    *(long*)sum += number;
    roost_unblock(producer);
  }
  return NULL;
}

int main(void) {
  // Does nothing under `roost run`. The instance may be named in the environment for tests.
  struct roost_config config = {.instance = getenv("API_INSTANCE")};
  int error = roost_start(&config);
  if (error) {
    fprintf(stderr, "roost_start: %s\n", strerror(-error));
    return 1;
  }
  producer = roost_self();
  long sum = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, consume, &sum) != 0) return 1;
  roost_block();  // until the consumer has said who it is
  for (int i = 0; i < ROUNDS; ++i) {
    number = i;
    roost_unblock(consumer);
    roost_block();
  }
  pthread_join(thread, NULL);
  printf("%d pieces of work handed over in '%s', sum %ld\n", ROUNDS, roost_instance_name(), sum);
  return sum == (long)ROUNDS * (ROUNDS - 1) / 2 ? 0 : 1;
}

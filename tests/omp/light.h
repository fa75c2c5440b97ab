// For tests of what only light threads do.
#pragma once

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "expect.h"

static inline int on_light_stack(void) {
  pthread_attr_t attributes;
  void* low;
  size_t bytes;
  char here;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) abort();
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  return &here < (char*)low || &here >= (char*)low + bytes;
}

// Has one light thread of a region call `function`; how many light threads there were. All members
// have begun by then, so those beyond the OS threads are light.
static inline int in_light_thread(void (*function)(void)) {
  int size = 4 * omp_get_num_procs() + 1, light_ones = 0;
#pragma omp parallel num_threads(size)
  {
    int light = on_light_stack();
#pragma omp barrier
    if (light && add(&light_ones, 1) == 1) function();
#pragma omp barrier
  }
  return light_ones;
}

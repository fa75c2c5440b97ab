// BLIS's own threads, where it is built for pthreads.
//
// Each call of BLIS's level 3 makes its threads anew, by bli_pthread_create, and joins them; in
// between they meet at some twenty barriers, in loops that only look at memory. As threads each
// barrier costs every one of them a switch of 3 us where cores are shared. They keep nothing in
// thread-local variables and ask nobody who they are (0.7 to 2.0; bli_thread_launch_pthreads,
// formerly bli_l3_thread_decorator), so they are a crew. Both functions are pthread_create and
// pthread_join in BLIS, called through its table of symbols.
#include <pthread.h>

#include "omp/crew.h"
#include "omp/export.h"

using roost::omp::Hand;

extern "C" ROOST_EXPORT int bli_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                               void* (*function)(void*), void* argument) {
  Hand* hand = attributes ? nullptr : roost::omp::crew_add(function, argument);
  if (!hand) return pthread_create(thread, attributes, function, argument);
  *thread = reinterpret_cast<pthread_t>(hand);
  return 0;
}

extern "C" ROOST_EXPORT int bli_pthread_join(pthread_t thread, void** result) {
  void* returned = nullptr;
  if (!roost::omp::crew_join(reinterpret_cast<const void*>(thread), returned))
    return pthread_join(thread, result);
  if (result) *result = returned;
  return 0;
}

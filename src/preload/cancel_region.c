/* See cancel_region.h. Costs a sigsetjmp without the mask (about 20 ns), on blocking paths only. */
#include "preload/cancel_region.h"

#include <pthread.h>

void roost_call_cancellable(void (*call)(void*), void* data, void (*cleanup)(void*),
                            void* cleanup_data) {
  pthread_cleanup_push(cleanup, cleanup_data);
  call(data);
  pthread_cleanup_pop(0);
}

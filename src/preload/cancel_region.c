/* See cancel_region.h. Costs a sigsetjmp without the mask (about 20 ns), on blocking paths only. */
#include "preload/cancel_region.h"

static __thread __pthread_unwind_buf_t* outermost __attribute__((tls_model("initial-exec")));

struct end {
  void (*cleanup)(void*);
  void* data;
};

static void end_thread(void* data) {
  struct end* end = data;
  outermost = 0;
  end->cleanup(end->data);
}

void roost_call_cancellable(void (*call)(void*), void* data, void (*cleanup)(void*),
                            void* cleanup_data) {
  struct end end = {cleanup, cleanup_data};
  pthread_cleanup_push(end_thread, &end);
  int is_outermost = !outermost;
  if (is_outermost) outermost = &__cancel_buf;
  call(data);
  if (is_outermost) outermost = 0;
  pthread_cleanup_pop(0);
}

int roost_is_cancellable(void) { return outermost != 0; }

void roost_leave_cancellable(void) {
  if (outermost) __pthread_unregister_cancel(outermost);
  outermost = 0;
}

void roost_note_cleanups(roost_cleanups* now) {
  __pthread_register_cancel(now);
  __pthread_unregister_cancel(now);
}

void roost_reset_cleanups(roost_cleanups* noted) { __pthread_unregister_cancel(noted); }

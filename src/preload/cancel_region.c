/* See cancel_region.h. Costs a sigsetjmp without the mask (about 20 ns), on blocking paths only. */
#include "preload/cancel_region.h"

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))
OF_THREAD __pthread_unwind_buf_t* outermost;
OF_THREAD __pthread_unwind_buf_t* innermost;
#undef OF_THREAD

struct end {
  void (*cleanup)(void*);
  void* data;
};

static void end_thread(void* data) {
  struct end* end = data;
  outermost = innermost = 0;
  end->cleanup(end->data);
}

void roost_call_cancellable(void (*call)(void*), void* data, void (*cleanup)(void*),
                            void* cleanup_data) {
  struct end end = {cleanup, cleanup_data};
  pthread_cleanup_push(end_thread, &end);
  __pthread_unwind_buf_t* outer = innermost;
  innermost = &__cancel_buf;
  if (!outer) outermost = innermost;
  call(data);
  innermost = outer;
  if (!outer) outermost = 0;
  pthread_cleanup_pop(0);
}

int roost_is_cancellable(void) { return outermost != 0; }

void roost_note_cleanups(roost_cleanups* now) {
  __pthread_register_cancel(now);
  __pthread_unregister_cancel(now);
}

void roost_leave_cancellable(void) {
  /* Not if the handler that jumps has pushed cleanups of its own: perhaps it stays. */
  roost_cleanups now;
  roost_note_cleanups(&now);
  void* last_pushed = now.__pad[0]; /* glibc, nptl/descr.h: pthread_unwind_buf, priv.data.prev */
  if (last_pushed != innermost) return;
  __pthread_unregister_cancel(outermost);
  outermost = innermost = 0;
}

void roost_reset_cleanups(roost_cleanups* noted) { __pthread_unregister_cancel(noted); }

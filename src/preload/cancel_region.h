/* Runs a function so that a cleanup runs if the thread is cancelled or exits inside it. C, because
 * pthread_cleanup_push in C needs neither exceptions nor a personality routine. */
#pragma once

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif
#define ROOST_HIDDEN __attribute__((visibility("hidden")))

ROOST_HIDDEN void roost_call_cancellable(void (*call)(void*), void* data, void (*cleanup)(void*),
                                         void* cleanup_data);

/* Whether the thread is in such calls, and before a jump out of all of them: libc goes on knowing a
 * frame's cleanup after a jump out of it, and would return to the frame when the thread ends. */
ROOST_HIDDEN int roost_is_cancellable(void);
ROOST_HIDDEN void roost_leave_cancellable(void);

/* The cleanups that libc knows of the thread now, and back to these later, whatever frames with
 * others were left by jumps. */
typedef __pthread_unwind_buf_t roost_cleanups;
ROOST_HIDDEN void roost_note_cleanups(roost_cleanups* now);
ROOST_HIDDEN void roost_reset_cleanups(roost_cleanups* noted);

#undef ROOST_HIDDEN
#ifdef __cplusplus
}
#endif

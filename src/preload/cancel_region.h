/* Runs a function so that a cleanup runs if the thread is cancelled or exits inside it. C, because
 * pthread_cleanup_push in C needs neither exceptions nor a personality routine. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((visibility("hidden"))) void roost_call_cancellable(void (*call)(void*), void* data,
                                                                  void (*cleanup)(void*),
                                                                  void* cleanup_data);
#ifdef __cplusplus
}
#endif

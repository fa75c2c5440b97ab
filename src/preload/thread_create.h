// Creating threads, and the cache of kernel threads that wait for reuse.
#pragma once

#include "preload/lock.h"
#include "preload/thread.h"

namespace roost {

// Guards the cache and each thread's phase, detached flag, joiner and cancellation request.
extern Lock threads_lock;

// pthread_create(3); a cached kernel thread serves if one fits.
int create_thread(pthread_t* handle, const pthread_attr_t* attr, void* (*start)(void*),
                  void* argument);

// A finished, joined (or detached) thread becomes reusable. Under threads_lock.
void cache_thread(Thread*);

}  // namespace roost

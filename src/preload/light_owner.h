// Which light thread holds a recursive or error-checking mutex: libc knows the thread alone, and
// would let its siblings in. errno is left alone; for the calling thread.
#pragma once

#include <pthread.h>

namespace roost {

// The running light thread has locked (1) or unlocked (-1) the mutex. Not for the one on the
// thread's own stack: what nobody is noted for is its.
void note_light_owner(const pthread_mutex_t* mutex, int change);

// Of a mutex that the thread holds.
bool owned_by_this_light_thread(const pthread_mutex_t* mutex);

}  // namespace roost

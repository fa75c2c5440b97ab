// The mutex and condition-variable operations, for the C11 and condition-variable families.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace roost {

int mutex_lock(pthread_mutex_t*);
int mutex_trylock(pthread_mutex_t*);
int mutex_timedlock(pthread_mutex_t*, clockid_t, const timespec*);
int mutex_unlock(pthread_mutex_t*);

int cond_wait(pthread_cond_t*, pthread_mutex_t*);
int cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int cond_signal(pthread_cond_t*);
int cond_broadcast(pthread_cond_t*);
// Takes up to `count` waiters of a private condition variable out of its queue and wakes them.
void cond_wake(const void* cond, std::uint32_t count);

}  // namespace roost

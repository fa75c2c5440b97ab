// Operations on objects of libc's that wait or wake, for other families of functions.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <cstdint>

#include "preload/wait.h"

namespace roost {

int mutex_lock(pthread_mutex_t*);
int mutex_trylock(pthread_mutex_t*);
int mutex_timedlock(pthread_mutex_t*, clockid_t, const timespec*);
int mutex_unlock(pthread_mutex_t*);
// By the holder, before a wait of libc's that unlocks it: all who wait for it, now and later, do so
// in libc, as for one that processes share.
void mutex_waits_in_libc(pthread_mutex_t*);

// Whether another thread may lock it in the caller's place, who says then that it is the owner.
bool any_thread_may_lock(const pthread_mutex_t*);
void note_owner(pthread_mutex_t*);
// A wait of libc's at whose end the caller has the mutex if the result is 0 or `got_it`.
template <class Call>
int mutex_wait_in_libc(pthread_mutex_t* mutex, const Call& call, int got_it = 0) {
  if (!any_thread_may_lock(mutex)) return without_core(call);
  int result = without_core_anywhere(call);
  if (is_light() && (result == 0 || result == got_it)) note_owner(mutex);
  return result;
}

// Once, before the process joins: where this libc keeps a condition variable's clock and scope.
void find_condition_layout();
int cond_wait(pthread_cond_t*, pthread_mutex_t*);
int cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int cond_signal(pthread_cond_t*);
int cond_broadcast(pthread_cond_t*);
// What a wait for a condition variable does last. 0, EOWNERDEAD or the error of the lock.
int lock_after_condition(pthread_mutex_t*);
// Takes up to `count` waiters of a private condition variable out of its queue and wakes them.
void cond_wake(const void* cond, std::uint32_t count);

int rwlock_unlock(pthread_rwlock_t*);
int semaphore_post(sem_t*);

}  // namespace roost

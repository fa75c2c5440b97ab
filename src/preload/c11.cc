// <threads.h> mutexes and condition variables: the POSIX ones with other return values, as in
// glibc.
#include <errno.h>

#include "preload/mutex.h"
#include "preload/real.h"

namespace roost {
namespace {

int to_thrd(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* cond) { return reinterpret_cast<pthread_cond_t*>(cond); }

}  // namespace

ROOST_EXPORT int mtx_lock(mtx_t* mutex) { return to_thrd(mutex_lock(posix(mutex))); }
ROOST_EXPORT int mtx_trylock(mtx_t* mutex) { return to_thrd(mutex_trylock(posix(mutex))); }
ROOST_EXPORT int mtx_unlock(mtx_t* mutex) { return to_thrd(mutex_unlock(posix(mutex))); }
ROOST_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* at) {
  return to_thrd(mutex_timedlock(posix(mutex), CLOCK_REALTIME, at));
}
ROOST_EXPORT int cnd_wait(cnd_t* cond, mtx_t* mutex) {
  return to_thrd(cond_wait(posix(cond), posix(mutex)));
}
ROOST_EXPORT int cnd_timedwait(cnd_t* cond, mtx_t* mutex, const timespec* at) {
  return to_thrd(cond_timedwait(posix(cond), posix(mutex), at));
}
ROOST_EXPORT int cnd_signal(cnd_t* cond) { return to_thrd(cond_signal(posix(cond))); }
ROOST_EXPORT int cnd_broadcast(cnd_t* cond) { return to_thrd(cond_broadcast(posix(cond))); }

}  // namespace roost

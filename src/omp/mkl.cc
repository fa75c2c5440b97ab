// What MKL takes for granted of the threads of a region, and members that share an OS thread do not
// have by themselves.
//
// Where Roost does not see to it (preload/progress.cc): in LAPACK the members look for tasks in a
// list under a lock that they try to take, again and again without a pause. Those that have the
// tasks may share their OS thread.
//
// Anywhere: how many threads a thread's calls may have is set for a while, and put back, in
// thread-specific data. Two members that do so around a wait would leave there what one of them had
// set, and later calls on that thread would have other results, to the last bits.
#include <limits.h>
#include <sched.h>

#include "base/callers_own.h"
#include "base/lock_polls.h"
#include "omp/export.h"
#include "ult/thread_data.h"

extern "C" {
int mkl_serv_trylock(void* lock);
int mkl_serv_set_num_threads_local(int threads);
}

namespace roost::omp {
namespace {

constinit CallersOwn<int(void*)> own_trylock{"mkl_serv_trylock", mkl_serv_trylock};
constinit CallersOwn<int(int)> own_set_threads{"mkl_serv_set_num_threads_local",
                                               mkl_serv_set_num_threads_local};
constinit thread_local LockPolls polls __attribute__((tls_model("initial-exec")));

// Each copy of MKL in the process has a key of its own.
constexpr unsigned kMaxCopies = 4;
constinit std::atomic<int (*)(int)> copies[kMaxCopies] = {};

// The key is the one that has the number which was set.
void find_key(int (*set_threads)(int)) {
  constexpr int kUnusual = 0x5eed17;
  int before = set_threads(kUnusual);
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key)
    if (reinterpret_cast<std::intptr_t>(pthread_getspecific(key)) == kUnusual)
      ult::exchange_key(key);
  set_threads(before);
}

// Once for each copy.
void look_at_copy(int (*set_threads)(int)) {
  for (std::atomic<int (*)(int)>& copy : copies) {
    int (*known)(int) = copy.load(std::memory_order_acquire);
    if (known == set_threads) return;
    if (known) continue;
    find_key(set_threads);  // as may others at the same time: in their own values
    if (copy.compare_exchange_strong(known, set_threads, std::memory_order_release)) return;
  }
}

}  // namespace
}  // namespace roost::omp

// Returns what MKL does: the number that was set before; 0: none. Any thread.
extern "C" ROOST_EXPORT int mkl_serv_set_num_threads_local(int threads) {
  using namespace roost::omp;
  auto* set_threads = own_set_threads.of(__builtin_return_address(0));
  if (!set_threads) return 0;  // there is none that could have called
  look_at_copy(set_threads);
  return set_threads(threads);
}

// Returns what MKL does: whether the lock was free, and now is the caller's. Any thread.
extern "C" ROOST_EXPORT int mkl_serv_trylock(void* lock) {
  using namespace roost::omp;
  if (polls.is_time_for_others()) sched_yield();
  auto* trylock = own_trylock.of(__builtin_return_address(0));
  if (!trylock) return 0;  // there is none that could have called
  int taken = trylock(lock);
  if (!taken) polls.failed();
  return taken;
}

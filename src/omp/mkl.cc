// MKL's LAPACK, where Roost does not see to it: the members of its regions look for tasks in a list
// under a lock that they try to take, again and again without a pause. Those that have the tasks
// may share their OS thread. (preload/progress.cc, where there is Roost)
#include <sched.h>

#include "base/callers_own.h"
#include "base/lock_polls.h"
#include "omp/export.h"

extern "C" int mkl_serv_trylock(void* lock);

namespace roost::omp {
namespace {

constinit CallersOwn<int(void*)> own_trylock{"mkl_serv_trylock", mkl_serv_trylock};
constinit thread_local LockPolls polls __attribute__((tls_model("initial-exec")));

}  // namespace
}  // namespace roost::omp

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

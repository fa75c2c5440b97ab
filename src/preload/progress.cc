// Functions that libraries call over and over while they wait, through loops that no proof follows
// (spin/wait_proof.h).
//
// UCX, which MPICH lies over in Debian, never yields. (MPICH itself yields only over its old
// device; its variable for that does nothing here.) Its progress function returns how much it has
// progressed: after nothing, a READY thread gets the core, as Open MPI does with
// mpi_yield_when_idle.
//
// In MKL's LAPACK the threads of a call look for tasks in a list under a lock that they try to
// take, again and again without a pause; and who waits for another lock of MKL's tries 5000 times
// before he yields. Where several of them share an OS thread, those that have the tasks wait for
// that.
#include "base/callers_own.h"
#include "base/lock_polls.h"
#include "preload/real.h"
#include "preload/yield.h"

extern "C" {
unsigned ucp_worker_progress(void* worker);
int mkl_serv_trylock(void* lock);
}

namespace roost {
namespace {

constinit CallersOwn<unsigned(void*)> own_progress{"ucp_worker_progress", ucp_worker_progress};
constinit CallersOwn<int(void*)> own_trylock{"mkl_serv_trylock", mkl_serv_trylock};

// Says which function there is none of, and ends the process.
ROOST_LISTED_APART constinit Real<unsigned(void*)> next_progress{"ucp_worker_progress"};
ROOST_LISTED_APART constinit Real<int(void*)> next_trylock{"mkl_serv_trylock"};

constinit thread_local LockPolls polls __attribute__((tls_model("initial-exec")));

}  // namespace

// Returns what UCX does: how many events were handled. Any thread that UCX allows.
ROOST_EXPORT unsigned ucp_worker_progress(void* worker) {
  auto* progress = own_progress.of(__builtin_return_address(0));
  unsigned progressed = progress ? progress(worker) : next_progress(worker);
  if (progressed == 0) let_ready_thread_run();
  return progressed;
}

// Returns what MKL does: whether the lock was free, and now is the caller's. Any thread.
ROOST_EXPORT int mkl_serv_trylock(void* lock) {
  if (polls.is_time_for_others()) let_others_run();
  auto* trylock = own_trylock.of(__builtin_return_address(0));
  int taken = trylock ? trylock(lock) : next_trylock(lock);
  if (!taken) polls.failed();
  return taken;
}

}  // namespace roost

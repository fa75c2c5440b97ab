// Progress functions of message libraries that poll without ever yielding: UCX, which MPICH lies
// over in Debian. (MPICH itself yields only over its old device; its variable for that does nothing
// here.)
//
// A rank that waits for a message calls ucp_worker_progress over and over, through loops of several
// libraries that no proof follows (spin/wait_proof.h). It returns how much it has progressed: after
// nothing, a READY thread gets the core, as Open MPI does with mpi_yield_when_idle.
#include <dlfcn.h>

#include <atomic>

#include "preload/defer_cancellation.h"
#include "preload/real.h"
#include "preload/wait.h"
#include "sched/runtime_os.h"

namespace roost {
namespace {

using Progress = unsigned(void* worker);
constexpr const char* kProgress = "ucp_worker_progress";
ROOST_LISTED constinit Real<Progress> next_progress{kProgress};

// Where the callers' own UCX is, when it is not the global one: a plugin (dlopen with RTLD_LOCAL)
// has brought it along, and it is found only through the object that calls.
struct Caller {
  std::atomic<Progress*> progress{nullptr};
  std::atomic<void*> return_address{nullptr};  // set last
};
Caller callers[16];

Progress* find_through(void* return_address) {
  Dl_info object;
  if (!dladdr(return_address, &object) || !object.dli_fname) return nullptr;
  void* handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  auto* found = reinterpret_cast<Progress*>(dlsym(handle, kProgress));
  dlclose(handle);  // the caller keeps it loaded
  return found;
}

Progress* of_caller(void* return_address) {
  for (Caller& caller : callers) {
    if (caller.return_address.load(std::memory_order_acquire) == return_address)
      return caller.progress.load(std::memory_order_relaxed);
  }
  Progress* found = find_through(return_address);
  for (Caller& caller : callers) {
    Progress* none = nullptr;
    if (!found || !caller.progress.compare_exchange_strong(none, found)) continue;
    caller.return_address.store(return_address, std::memory_order_release);
    break;
  }
  return found;
}

}  // namespace

// Returns what UCX does: how many events were handled. Any thread that UCX allows.
ROOST_EXPORT unsigned ucp_worker_progress(void* worker) {
  Progress* progress = next_progress.find();
  if (!progress) progress = of_caller(__builtin_return_address(0));
  unsigned progressed = progress ? progress(worker) : next_progress(worker);  // which says why not
  if (progressed == 0 && can_park() && runtime_ledger().any_queued()) {
    DeferCancellation deferred;
    yield_core(nullptr);
  }
  return progressed;
}

}  // namespace roost

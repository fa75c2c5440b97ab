// Which threads those are: BLIS's, where it is built for pthreads.
//
// Each call of its level 3 makes threads and joins them, in one function
// (bli_thread_launch_pthreads; before 1.0 bli_l3_thread_decorator); in between they meet at some
// twenty barriers, in loops that only look at memory. They keep nothing in thread-local variables
// and never ask who they are (read in 0.7 to 2.0), and BLIS makes no others.
// docs/design/022-threads-of-a-call.md.
#include "preload/library_threads.h"

#include "base/types.h"
#include "preload/blis.h"
#include "preload/real.h"
#include "preload/wait.h"
#include "sched/runtime.h"

namespace roost {
namespace {

ROOST_LISTED_APART constinit Real<const void*(void* (*)(void*), void*)> crew_create{
    "roost_crew_create"};
ROOST_LISTED_APART constinit Real<int(const void*, void**)> crew_join{"roost_crew_join"};

}  // namespace

bool has_openmp_runtime() {
  resolve_functions();
  return crew_create.found() != nullptr;
}

bool make_library_thread(const dl_find_object& caller, pthread_t* handle, void* (*start)(void*),
                         void* argument) {
  if (!runtime_active() || inside_roost()) return false;
  resolve_functions();
  auto* create = crew_create.found();
  if (!create || !is_blis(caller)) return false;
  const void* hand = create(start, argument);
  if (!hand) return false;
  *handle = reinterpret_cast<pthread_t>(hand);
  return true;
}

bool join_library_thread(pthread_t handle, void** result) {
  auto* join = crew_join.found();
  return join && join(reinterpret_cast<const void*>(handle), result);
}

}  // namespace roost

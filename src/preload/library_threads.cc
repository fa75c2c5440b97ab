// Which threads those are: BLIS's, where it is built for pthreads.
//
// Each call of its level 3 makes threads and joins them, in one function
// (bli_thread_launch_pthreads; before 1.0 bli_l3_thread_decorator); in between they meet at some
// twenty barriers, in loops that only look at memory. They keep nothing in thread-local variables
// and never ask who they are (read in 0.7 to 2.0), and BLIS makes no others.
// docs/design/022-threads-of-a-call.md.
#include "preload/library_threads.h"

#include <string.h>

#include "base/loaded_object.h"
#include "base/types.h"
#include "os/sys.h"
#include "preload/real.h"
#include "preload/wait.h"
#include "sched/runtime.h"

namespace roost {
namespace {

ROOST_LISTED constinit Real<const void*(void* (*)(void*), void*)> crew_create{"roost_crew_create"};
ROOST_LISTED constinit Real<int(const void*, void**)> crew_join{"roost_crew_join"};

constexpr char kMark[] = "BLIS_JC_NT";

// Where the object's read-only data have the mark, or 0.
std::uintptr_t find_mark(const dl_find_object& object) {
  const void* found = nullptr;
  any_loaded_part(object, [&](const char* start, std::size_t size, unsigned flags) {
    if (flags == PF_R) found = memmem(start, size, kMark, sizeof kMark - 1);
    return found != nullptr;
  });
  return reinterpret_cast<std::uintptr_t>(found);
}

bool has_mark(std::uintptr_t address) {
  char found[sizeof kMark - 1];
  return os::read_own_memory(address, found, sizeof found) &&
         memcmp(found, kMark, sizeof found) == 0;
}

// BLIS under its own name, or as the BLAS of a distribution. An object that has BLIS in it besides
// code of its own may make other threads.
bool has_name_of_blas(const char* path) {
  return has_file_name(path, "libblis") || has_file_name(path, "libblas");
}

// Of objects with such a name: where a mark was found, or the address of one that has none. Looked
// at again each time, as another may lie there now; where one without was, threads stay threads.
std::atomic<std::uintptr_t> known[4];

bool is_blis(const dl_find_object& object) {
  auto start = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  auto end = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
  for (auto& it : known) {
    std::uintptr_t at = it.load(std::memory_order_relaxed);
    if (at == start) return false;
    if (at > start && at < end && has_mark(at)) return true;
  }
  std::uintptr_t mark = find_mark(object);
  for (auto& it : known) {
    std::uintptr_t none = 0;
    if (it.compare_exchange_strong(none, mark ? mark : start, std::memory_order_relaxed)) break;
  }
  return mark != 0;
}

}  // namespace

bool has_openmp_runtime() {
  resolve_libc_functions();
  return crew_create.found() != nullptr;
}

bool make_library_thread(const dl_find_object& caller, pthread_t* handle, void* (*start)(void*),
                         void* argument) {
  if (!runtime_active() || inside_roost()) return false;
  resolve_libc_functions();
  auto* create = crew_create.found();
  if (!create || !has_name_of_blas(caller.dlfo_link_map->l_name) || !is_blis(caller)) return false;
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

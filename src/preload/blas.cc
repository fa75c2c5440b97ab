// Finds BLAS libraries among the loaded objects, and a helper thread that sets the width of their
// calls.
#include "preload/blas.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/loaded_object.h"
#include "os/raw_syscall.h"
#include "os/sys.h"
#include "policy/call_width.h"
#include "preload/blas_width.h"
#include "preload/fork_gate.h"
#include "preload/real.h"
#include "sched/keeper.h"
#include "sched/runtime.h"

namespace roost {
namespace {

// The functions by which a library is told, and says, how many threads a call takes.
struct Interface {
  const char* set;
  const char* get;
  const char* kind;  // null: none
};
constexpr Interface kInterfaces[] = {
    {"openblas_set_num_threads", "openblas_get_num_threads", "openblas_get_parallel"},
    {"openblas_set_num_threads64_", "openblas_get_num_threads64_", "openblas_get_parallel64_"},
    // In the wheels of NumPy and SciPy.
    {"scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads",
     "scipy_openblas_get_parallel"},
    {"scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_",
     "scipy_openblas_get_parallel64_"},
    {"bli_thread_set_num_threads", "bli_thread_get_num_threads", nullptr},
};

struct Library {
  void (*set)(long);
  int (*get)();
  int asked;  // by the program, or by its environment
  int given;  // by us
};

constexpr unsigned kMaxLibraries = 8;
Library libraries[kMaxLibraries];
unsigned n_libraries;

std::atomic<bool> started{false};
std::atomic<int> lock_waiters{0};

ROOST_LISTED constinit Real<void*(const char*, int)> real_dlopen{"dlopen"};

// Whose pieces or threads are crews of the OpenMP runtime's make one thread a caller, not as many
// as they are wide, and helpers (omp/crew.h).
ROOST_LISTED_APART constinit Real<int()> crew_helpers{"roost_crew_helpers"};

int helpers_of_crews() {
  auto* count = crew_helpers.found();
  return count ? count() : -1;
}

template <class Function>
Function* find(void* handle, const char* name) {
  return reinterpret_cast<Function*>(name ? dlsym(handle, name) : nullptr);
}

// OpenBLAS on OpenMP takes the number from OpenMP, and BLIS from 1.0 on keeps it, for each thread
// apart.
bool is_per_thread(void* handle, const Interface& interface) {
  constexpr int kOpenMp = 2;
  if (auto* kind = find<int()>(handle, interface.kind)) return kind() == kOpenMp;
  auto* version = find<const char*()>(handle, "bli_info_get_version_str");
  return version && strncmp(version(), "0.", 2) != 0;
}

void learn(void* handle) {
  for (const Interface& interface : kInterfaces) {
    auto* set = find<void(long)>(handle, interface.set);
    auto* get = find<int()>(handle, interface.get);
    if (!set || !get || n_libraries == kMaxLibraries) continue;
    bool known = false;  // an object that depends on the library has the same functions
    for (unsigned i = 0; i < n_libraries; ++i) known |= libraries[i].set == set;
    if (known || is_per_thread(handle, interface)) continue;
    int width = get();
    libraries[n_libraries++] = {set, get, width, width};
  }
}

// The paths of objects that have BLAS or BLIS in their name.
struct Paths {
  unsigned long long adds;  // objects ever loaded when they were last collected
  bool collecting;
  unsigned count;
  char text[kMaxLibraries][512];
};
int collect(dl_phdr_info* info, std::size_t, void* data) {
  auto& paths = *static_cast<Paths*>(data);
  if (!paths.collecting && info->dlpi_adds == paths.adds) return 1;  // nothing was loaded since
  paths.collecting = true;
  paths.adds = info->dlpi_adds;
  std::size_t length = strlen(info->dlpi_name);
  if (paths.count == kMaxLibraries || length >= sizeof paths.text[0]) return 0;
  if (name_contains(info->dlpi_name, "blas") || name_contains(info->dlpi_name, "blis"))
    memcpy(paths.text[paths.count++], info->dlpi_name, length + 1);
  return 0;
}

// What was loaded since the last look. The libraries stay loaded from then on, as we call them.
void look_for_libraries() {
  static constinit Paths paths{};
  paths.collecting = false;
  paths.count = 0;
  walk_objects(collect, &paths);
  for (unsigned i = 0; i < paths.count; ++i) {
    if (void* handle = real_dlopen(paths.text[i], RTLD_LAZY | RTLD_NOLOAD)) learn(handle);
  }
}

// Reads what others write at the same time: a sum that was never true does no harm.
CallWidth::Sample look_at_instance(const Segment& s, ProcessIndex own) {
  CallWidth::Sample sample{};
  for (CoreIndex c = 0; c < s.header->n_cores; ++c) {
    if (has_bit(s.header->contended, c)) continue;  // a piece of a call there would come late
    ++sample.cores;
    sample.busy_cores += s.cores[c].owner.load(std::memory_order_relaxed) != 0;
    sample.any_ready |= s.cores[c].ready.load(std::memory_order_relaxed) != 0;
  }
  unsigned runnable_elsewhere = 0;
  for_each_thread(s, [&](ThreadIndex, const ThreadRecord<RealWorld>& record) {
    State state = state_of(record.state.load(std::memory_order_relaxed));
    if (state != State::running && state != State::ready) return;
    if (record.process == own) {
      ++sample.runnable;
    } else if (record.process < s.header->n_processes &&
               s.processes[record.process].callers.load(std::memory_order_relaxed) == 0) {
      ++runnable_elsewhere;
    }
  });
  sample.others = CallWidth::kOne * runnable_elsewhere;
  for (ProcessIndex p = 0; p < s.header->n_processes; ++p) {
    const auto& slot = s.processes[p];
    if (p != own && process_state(slot.state.load(std::memory_order_relaxed)) == ProcessState::live)
      sample.others += slot.callers.load(std::memory_order_relaxed);
  }
  int waiters = lock_waiters.load(std::memory_order_relaxed);
  sample.lock_waiters = waiters > 0 ? static_cast<unsigned>(waiters) : 0;
  return sample;
}

void note_what_the_program_set() {
  for (unsigned i = 0; i < n_libraries; ++i) {
    Library& library = libraries[i];
    if (int found = library.get(); found != library.given) library.asked = library.given = found;
  }
}

// Gives every library `width` threads, or fewer if that is all the program asked for. Whether
// anything changed.
bool give(unsigned width) {
  bool changed = false;
  for (unsigned i = 0; i < n_libraries; ++i) {
    Library& library = libraries[i];
    int given = std::min(static_cast<int>(width), library.asked);
    if (given == library.given || given < 1) continue;
    library.set(given);
    library.given = given;
    changed = true;
  }
  return changed;
}

unsigned widest(int Library::*number) {
  int result = 1;
  for (unsigned i = 0; i < n_libraries; ++i) result = std::max(result, libraries[i].*number);
  return static_cast<unsigned>(result);
}

// Looks again soon while something changes, seldom while nothing does.
void* adapt(void*) {
  constexpr Nanoseconds kSoonest = 4'000'000, kLatest = 32'000'000;
  os::raw_syscall(SYS_prctl, PR_SET_NAME, os::arg("roost-blas"));
  CallWidth law;
  for (Nanoseconds pause = kSoonest;; pause = std::min(2 * pause, kLatest)) {
    os::sleep_for(pause);
    if (!runtime_active()) return nullptr;
    look_for_libraries();
    if (n_libraries == 0) continue;
    note_what_the_program_set();
    CallWidth::Sample sample = look_at_instance(runtime_segment(), runtime_process());
    if (int helpers = helpers_of_crews(); helpers >= 0) {
      sample.crews = true;
      sample.runnable -= std::min(sample.runnable, static_cast<unsigned>(helpers));
    }
    unsigned width = law.next(sample, widest(&Library::given), widest(&Library::asked));
    runtime_show_callers(law.callers());
    if (give(width) || law.undecided()) pause = kSoonest / 2;
  }
}

}  // namespace

void blas_before_thread() {
  if (!blas_bits_may_differ() || started.load(std::memory_order_relaxed)) return;
  if (started.exchange(true, std::memory_order_relaxed)) return;
  start_helper(adapt);
}

void blas_after_fork() {
  started.store(false, std::memory_order_relaxed);
  lock_waiters.store(0, std::memory_order_relaxed);
}

void blas_lock_waiters(int change) {
  if (blas_bits_may_differ()) lock_waiters.fetch_add(change, std::memory_order_relaxed);
}

}  // namespace roost

// What a tool may ask (19.6): the functions that the lookup function finds.
//
// All but ompt_set_callback and ompt_finalize_tool may be called in signal handlers.
#include <sched.h>

#include <cstring>

#include "omp/affinity.h"
#include "omp/api.h"
#include "omp/ompt_callbacks.h"
#include "omp/placement.h"
#include "omp/task_memory.h"

namespace roost::omp::ompt {
namespace {

// ---- What there is ------------------------------------------------------------------------------

struct NamedState {
  State state;
  const char* name;
};
constexpr NamedState kStates[] = {
    {State::work_serial, "ompt_state_work_serial"},
    {State::work_parallel, "ompt_state_work_parallel"},
    {State::work_reduction, "ompt_state_work_reduction"},
    {State::wait_barrier_implicit_parallel, "ompt_state_wait_barrier_implicit_parallel"},
    {State::wait_barrier_implicit_workshare, "ompt_state_wait_barrier_implicit_workshare"},
    {State::wait_barrier_explicit, "ompt_state_wait_barrier_explicit"},
    {State::wait_barrier_implementation, "ompt_state_wait_barrier_implementation"},
    {State::wait_taskwait, "ompt_state_wait_taskwait"},
    {State::wait_taskgroup, "ompt_state_wait_taskgroup"},
    {State::wait_lock, "ompt_state_wait_lock"},
    {State::wait_critical, "ompt_state_wait_critical"},
    {State::wait_atomic, "ompt_state_wait_atomic"},
    {State::wait_ordered, "ompt_state_wait_ordered"},
    {State::idle, "ompt_state_idle"},
    {State::overhead, "ompt_state_overhead"},
};

// A tool begins with ompt_state_undefined.
int enumerate_states(int current, int* next, const char** name) {
  unsigned count = sizeof kStates / sizeof *kStates;
  unsigned at = 0;
  if (current != static_cast<int>(State::undefined)) {
    while (at < count && static_cast<int>(kStates[at].state) != current) ++at;
    if (++at >= count) return 0;
  }
  *next = static_cast<int>(kStates[at].state);
  *name = kStates[at].name;
  return 1;
}

int enumerate_mutex_impls(int current, int* next, const char** name) {
  if (current != 0) return 0;
  *next = static_cast<int>(kQueuingLock);
  *name = "roost_mutex_impl_queuing";
  return 1;
}

// ---- Callbacks ----------------------------------------------------------------------------------

SetResult result_for(unsigned event) {
  switch (static_cast<Event>(event)) {
    case Event::thread_begin:
    case Event::thread_end:
    case Event::parallel_begin:
    case Event::parallel_end:
    case Event::task_create:
    case Event::task_schedule:
    case Event::implicit_task:
    case Event::control_tool:
    case Event::sync_region_wait:
    case Event::sync_region:
    case Event::task_dependence:
    case Event::lock_init:
    case Event::lock_destroy:
    case Event::nest_lock:
    case Event::error:
      return SetResult::always;
    // Compilers do some of these without the library: atomic operations and flushes by
    // instructions, static loops (GCC), masked regions (GCC), reductions (GCC).
    case Event::mutex_acquire:
    case Event::mutex_acquired:
    case Event::mutex_released:
    case Event::work:
    case Event::masked:
    case Event::flush:
    case Event::reduction:
    case Event::dispatch:
    case Event::cancel:
    // Not of doacross loops.
    case Event::dependences:
      return SetResult::sometimes;
  }
  return SetResult::never;  // devices
}

SetResult set_callback(unsigned event, AnyFunction function) {
  if (event == 0 || event > kLastEvent) return SetResult::error;
  SetResult result = result_for(event);
  if (result != SetResult::never) callbacks[event].store(function, std::memory_order_relaxed);
  return result;
}

int get_callback(unsigned event, AnyFunction* function) {
  if (event == 0 || event > kLastEvent) return 0;
  *function = callbacks[event].load(std::memory_order_relaxed);
  return *function != nullptr;
}

// ---- Places -------------------------------------------------------------------------------------

int get_place_proc_ids(int place, int room, int* ids) {
  if (place < 0 || static_cast<unsigned>(place) >= place_count()) return 0;
  const std::uint16_t* cpus = nullptr;
  auto count = static_cast<int>(place_cpus(static_cast<unsigned>(place), cpus));
  for (int i = 0; i < count && i < room; ++i) ids[i] = cpus[i];
  return count;
}

// ---- The calling thread -------------------------------------------------------------------------

int get_state(std::uint64_t* wait_id) {
  const Member* member = has_tool() ? current_member() : nullptr;
  if (wait_id) *wait_id = member ? member->tool.wait_id : 0;
  if (member) return static_cast<int>(member->tool.state);
  // A thread that has not met OpenMP yet is at serial work like any initial thread: `undefined` is
  // for those that are no threads of the program's.
  return static_cast<int>(thread_data() ? State::idle : State::work_serial);
}

// Threads that OpenMP does not know are at no place.
Placement own_placement() {
  const Member* member = current_member();
  return member ? placement_of(*member) : Placement();
}
int get_place_num() { return own_placement().number(); }
int get_partition_place_nums(int room, int* places) {
  Placement own = own_placement();
  auto count = static_cast<int>(own.count);
  for (int i = 0; i < count && i < room; ++i) places[i] = static_cast<int>(own.first) + i;
  return count;
}

int get_parallel_info(int level, Data** parallel, int* size) {
  const Member* member = has_tool() ? current_member() : nullptr;
  for (; member && level > 0; --level) member = member->team->opener;
  if (!member || level < 0) return 0;
  if (parallel) *parallel = parallel_of(*member);
  if (size) *size = static_cast<int>(member->team->size);
  return 2;
}

// Up the stack: an explicit task lies on another one of its thread, an implicit one belongs to the
// task that opened the region, perhaps on another thread.
int get_task_info(int level, int* flags, Data** data, Frame** frame, Data** parallel, int* number) {
  Member* member = has_tool() ? current_member() : nullptr;
  Task* task = member ? member->task : nullptr;
  for (; task && level > 0; --level) {
    if (task->implicit) {
      member = task->team->opener;
      task = task->parent;
    } else {
      task = task->tool.below;
    }
  }
  if (!task || level < 0) return 0;
  if (flags) *flags = flags_of(*task);
  if (data) *data = &task->tool.data;
  if (frame) *frame = &task->tool.frame;
  if (parallel) *parallel = task->team->tool.parallel;
  if (number) *number = member ? static_cast<int>(member->number) : 0;
  return 2;
}

// What the compiler keeps behind an explicit task's record. There is one block.
int get_task_memory(void** address, std::size_t* bytes, int) {
  Member* member = current_member();
  *address = nullptr;
  *bytes = 0;
  if (!member || member->task->implicit) return 0;
  auto& task = static_cast<ExplicitTask&>(*member->task);
  *address = payload(task, 1);
  *bytes = class_bytes(task.memory_class) - kPayload;
  return 0;
}

// Of threads that OpenMP does not know, nothing is told.
int get_proc_id() { return thread_data() ? sched_getcpu() : -1; }

// No target regions are told of.
int get_target_info(std::uint64_t*, std::uint64_t*, std::uint64_t*) { return 0; }

struct Named {
  const char* name;
  AnyFunction function;
};
#define NAMED(name) \
  { "ompt_" #name, reinterpret_cast<AnyFunction>(name) }
const Named kFunctions[] = {
    NAMED(enumerate_states),
    NAMED(enumerate_mutex_impls),
    NAMED(set_callback),
    NAMED(get_callback),
    NAMED(get_place_proc_ids),
    NAMED(get_place_num),
    NAMED(get_partition_place_nums),
    NAMED(get_state),
    NAMED(get_parallel_info),
    NAMED(get_task_info),
    NAMED(get_task_memory),
    NAMED(get_proc_id),
    NAMED(get_target_info),
    NAMED(finalize_tool),
    {"ompt_get_unique_id", reinterpret_cast<AnyFunction>(unique_id)},
    {"ompt_get_thread_data", reinterpret_cast<AnyFunction>(thread_data)},
    {"ompt_get_num_procs", reinterpret_cast<AnyFunction>(omp_get_num_procs)},
    {"ompt_get_num_places", reinterpret_cast<AnyFunction>(place_count)},
    {"ompt_get_num_devices", reinterpret_cast<AnyFunction>(omp_get_num_devices)},
};

}  // namespace

// A thread's numbers have its own in front, in the order in which threads first ask, as libomp's
// do: tools sort events by them.
std::uint64_t unique_id() {
  constexpr std::uint64_t kOfAThread = std::uint64_t{1} << 48;
  static constinit std::atomic<std::uint64_t> last_thread{0};
  static constinit thread_local std::uint64_t last = 0;
  if (!last) last = last_thread.fetch_add(kOfAThread, std::memory_order_relaxed) + kOfAThread;
  return ++last;
}

AnyFunction look_up(const char* name) {
  for (const Named& known : kFunctions)
    if (strcmp(name, known.name) == 0) return known.function;
  return nullptr;
}

}  // namespace roost::omp::ompt

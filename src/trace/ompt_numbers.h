// OMPT's numbers (OpenMP 5.2, section 19.4), as far as the runtime tells of them: what a tool gets
// (omp/ompt_abi.h), and what a trace has and `roost run --trace` reads.
#pragma once

namespace roost::ompt_numbers {

enum class Event : unsigned {
  thread_begin = 1,
  thread_end = 2,
  parallel_begin = 3,
  parallel_end = 4,
  task_create = 5,
  task_schedule = 6,
  implicit_task = 7,
  control_tool = 11,
  sync_region_wait = 16,
  mutex_released = 17,
  dependences = 18,
  task_dependence = 19,
  work = 20,
  masked = 21,
  sync_region = 23,
  lock_init = 24,
  lock_destroy = 25,
  mutex_acquire = 26,
  mutex_acquired = 27,
  nest_lock = 28,
  flush = 29,
  cancel = 30,
  reduction = 31,
  dispatch = 32,
  error = 37,
};
inline constexpr unsigned kLastEvent = 37;

enum class Endpoint : int { begin = 1, end = 2, beginend = 3 };

enum class TaskStatus : int {
  complete = 1,
  yield = 2,
  cancel = 3,
  detach = 4,
  early_fulfill = 5,
  late_fulfill = 6,
  switched = 7,
  taskwait_complete = 8,
};

enum class Sync : int {
  barrier_explicit = 3,
  barrier_implementation = 4,
  taskwait = 5,
  taskgroup = 6,
  reduction = 7,
  barrier_implicit_workshare = 8,
  barrier_implicit_parallel = 9,
};

enum class Work : int {
  none = 0,
  loop = 1,
  sections = 2,
  single_executor = 3,
  single_other = 4,
  distribute = 6,
  taskloop = 7,
  scope = 8,
  loop_static = 10,
  loop_dynamic = 11,
  loop_guided = 12,
  loop_other = 13,
};

enum class Dispatch : int {
  iteration = 1,
  section = 2,
  loop_chunk = 3,
  taskloop_chunk = 4,
  distribute_chunk = 5,
};

enum class Mutex : int {
  lock = 1,
  test_lock = 2,
  nest_lock = 3,
  test_nest_lock = 4,
  critical = 5,
  atomic = 6,
  ordered = 7,
};

}  // namespace roost::ompt_numbers

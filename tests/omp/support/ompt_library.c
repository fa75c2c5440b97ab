// The tool of ompt_library.c, in a library of its own: counts regions and tasks, and says at the
// end of the process whether that is what OMPT_LIBRARY_WANTS says.
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int begun, ended, created, complete, threads, implicit;

static int add(int* counter) { return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED); }

static void thread_begin(ompt_thread_t kind, ompt_data_t* data) {
  (void)kind;
  data->value = (uint64_t)add(&threads);
}
static void parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* parallel,
                           unsigned requested, int flags, const void* code) {
  (void)task, (void)frame, (void)requested, (void)flags, (void)code;
  parallel->value = (uint64_t)add(&begun);
}
static void parallel_end(ompt_data_t* parallel, ompt_data_t* task, int flags, const void* code) {
  (void)parallel, (void)task, (void)flags, (void)code;
  add(&ended);
}
static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t* task,
                          unsigned size, unsigned index, int flags) {
  (void)parallel, (void)task, (void)size, (void)index;
  if (flags & ompt_task_implicit) __atomic_add_fetch(&implicit, endpoint == 1 ? 1 : -1, 0);
}
static void task_create(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* made, int flags,
                        int dependences, const void* code) {
  (void)task, (void)frame, (void)flags, (void)dependences, (void)code;
  made->value = (uint64_t)add(&created);
}
static void task_schedule(ompt_data_t* prior, ompt_task_status_t status, ompt_data_t* next) {
  (void)prior, (void)next;
  if (status == ompt_task_complete) add(&complete);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  int well = set(ompt_callback_thread_begin, (ompt_callback_t)thread_begin) == ompt_set_always;
  well &= set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin) == ompt_set_always;
  well &= set(ompt_callback_parallel_end, (ompt_callback_t)parallel_end) == ompt_set_always;
  well &= set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task) == ompt_set_always;
  well &= set(ompt_callback_task_create, (ompt_callback_t)task_create) == ompt_set_always;
  well &= set(ompt_callback_task_schedule, (ompt_callback_t)task_schedule) == ompt_set_always;
  return well;
}

// The last thing of the tool: without it, the process ends with what main() returns.
static void finalize(ompt_data_t* data) {
  (void)data;
  const char* wanted = getenv("OMPT_LIBRARY_WANTS");
  char seen[128];
  snprintf(seen, sizeof seen, "regions %d %d members left %d tasks %d %d initial %d", begun, ended,
           implicit, created, complete, threads > 0);
  int same = wanted && strcmp(wanted, seen) == 0;
  if (!same) printf("seen: %s; wanted: %s\n", seen, wanted ? wanted : "");
  fflush(stdout);
  _exit(!same);
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  (void)version, (void)runtime;
  const char* declines = getenv("OMPT_LIBRARY_DECLINES");
  return declines && *declines ? NULL : &result;
}

// A tool (OMPT) that notes all events, and checks at the end that they are in order: what begins
// ends once, after it began and inside what it began in, by the same task.
//
// A program that includes this brings the tool along. It says what must have happened in
// events_expected(), which is called when the tool is left: at the latest by leave_tool(), whose
// result main() returns.
#pragma once

#include <errno.h>
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Names that LLVM's header of version 14 has not.
enum { LOOP_STATIC = 10, LOOP_DYNAMIC, LOOP_GUIDED, LOOP_OTHER };
enum { LOOP_CHUNK = 3, TASKLOOP_CHUNK, DISTRIBUTE_CHUNK };

enum { MOST_EVENTS = 1 << 17, MOST_IDS = 1 << 15, DEEPEST = 16 };

typedef struct {
  int what;              // ompt_callbacks_t
  int kind;              // of a sync region, work, mutex; status of a task switch; flags
  int endpoint;          // ompt_scope_begin, ompt_scope_end, or 0
  unsigned long id;      // the region's, task's, thread's or mutex's
  unsigned long task;    // in which it happens; for a switch: the task that is left
  unsigned long thread;  // 0 before its thread_begin
  unsigned long number;  // requested threads, or index of a member
  const void* code;
} event;

static event events[MOST_EVENTS];
static atomic_int n_events;
static atomic_ulong last_id;
static int ours;  // the runtime is Roost's
static int bad, finalized;

static ompt_set_callback_t set_callback;
static ompt_get_thread_data_t get_thread_data;
static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;
static ompt_get_state_t get_state;
static ompt_function_lookup_t look_up;

// By the program.
static void events_expected(void);

static void wrong(const char* what, unsigned long seen, unsigned long wanted) {
  if (bad++ < 8) fprintf(stderr, "%s is %lu, not %lu\n", what, seen, wanted);
}
static void must_be(const char* what, unsigned long seen, unsigned long wanted) {
  if (seen != wanted) wrong(what, seen, wanted);
}

static unsigned long new_id(ompt_data_t* data) {
  must_be("a new object's data", data->value, 0);
  return data->value = atomic_fetch_add(&last_id, 1) + 1;
}
static void note(event e) {
  ompt_data_t* thread = get_thread_data();
  e.thread = thread ? thread->value : 0;
  int at = atomic_fetch_add(&n_events, 1);
  if (at < MOST_EVENTS) events[at] = e;
  errno = ENOTRECOVERABLE;  // which the program must not see
}

// ---- Callbacks ----------------------------------------------------------------------------------

static void on_thread_begin(ompt_thread_t kind, ompt_data_t* data) {
  unsigned long id = new_id(data);
  note((event){.what = ompt_callback_thread_begin, .kind = kind, .id = id});
}
static void on_thread_end(ompt_data_t* data) {
  note((event){.what = ompt_callback_thread_end, .id = data->value});
}
static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* parallel,
                              unsigned requested, int flags, const void* code) {
  if (!frame->enter_frame.ptr) wrong("the enter frame of who opens a region", 0, 1);
  note((event){.what = ompt_callback_parallel_begin,
               .kind = flags,
               .id = new_id(parallel),
               .task = task->value,
               .number = requested,
               .code = code});
}
static void on_parallel_end(ompt_data_t* parallel, ompt_data_t* task, int flags, const void* code) {
  note((event){.what = ompt_callback_parallel_end,
               .kind = flags,
               .id = parallel->value,
               .task = task->value,
               .code = code});
}
// The region goes into `number` of the event's end, and its size into that of `code`.
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                             ompt_data_t* task, unsigned size, unsigned index, int flags) {
  if (endpoint == ompt_scope_begin) new_id(task);
  note((event){.what = ompt_callback_implicit_task,
               .kind = flags,
               .endpoint = endpoint,
               .id = parallel ? parallel->value : 0,
               .task = task->value,
               .number = index,
               .code = (const void*)(uintptr_t)size});
}
static void on_task_create(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* made,
                           int flags, int dependences, const void* code) {
  if (!frame->enter_frame.ptr) wrong("the enter frame of who creates a task", 0, 1);
  note((event){.what = ompt_callback_task_create,
               .kind = flags,
               .id = new_id(made),
               .task = task->value,
               .number = (unsigned long)dependences,
               .code = code});
}
static void on_task_schedule(ompt_data_t* prior, ompt_task_status_t status, ompt_data_t* next) {
  note((event){.what = ompt_callback_task_schedule,
               .kind = status,
               .task = prior->value,
               .id = next ? next->value : 0});
}
static void scope(int what, int kind, int endpoint, ompt_data_t* task, const void* code) {
  note(
      (event){.what = what, .kind = kind, .endpoint = endpoint, .task = task->value, .code = code});
}
static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                           ompt_data_t* parallel, ompt_data_t* task, const void* code) {
  (void)parallel;
  scope(ompt_callback_sync_region, kind, endpoint, task, code);
}
static void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                                ompt_data_t* parallel, ompt_data_t* task, const void* code) {
  (void)parallel;
  scope(ompt_callback_sync_region_wait, kind, endpoint, task, code);
}
static void on_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                    ompt_data_t* task, uint64_t count, const void* code) {
  (void)parallel;
  (void)count;
  scope(ompt_callback_work, kind, endpoint, task, code);
}
static void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t* task,
                      const void* code) {
  (void)parallel;
  scope(ompt_callback_masked, 0, endpoint, task, code);
}
static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t id,
                             const void* code) {
  (void)hint;
  (void)impl;
  note((event){.what = ompt_callback_mutex_acquire, .kind = kind, .id = id, .code = code});
}
static void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) {
  note((event){.what = ompt_callback_mutex_acquired, .kind = kind, .id = id, .code = code});
}
static void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) {
  note((event){.what = ompt_callback_mutex_released, .kind = kind, .id = id, .code = code});
}
static void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t id, const void* code) {
  note((event){.what = ompt_callback_nest_lock, .endpoint = endpoint, .id = id, .code = code});
}
static void on_lock_init(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t id,
                         const void* code) {
  (void)hint;
  (void)impl;
  note((event){.what = ompt_callback_lock_init, .kind = kind, .id = id, .code = code});
}
static void on_lock_destroy(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) {
  note((event){.what = ompt_callback_lock_destroy, .kind = kind, .id = id, .code = code});
}
static void on_dependences(ompt_data_t* task, const ompt_dependence_t* list, int count) {
  for (int i = 0; i < count; ++i)
    note((event){.what = ompt_callback_dependences,
                 .kind = list[i].dependence_type,
                 .id = task->value,
                 .code = list[i].variable.ptr});
}
static void on_task_dependence(ompt_data_t* source, ompt_data_t* sink) {
  note((event){.what = ompt_callback_task_dependence, .task = source->value, .id = sink->value});
}

// ---- Counting -----------------------------------------------------------------------------------

// Events that match; -1: any.
static inline unsigned long count_of(int what, int kind, int endpoint) {
  unsigned long count = 0;
  for (int i = 0; i < n_events; ++i)
    count += events[i].what == what && (kind < 0 || events[i].kind == kind) &&
             (endpoint < 0 || events[i].endpoint == endpoint);
  return count;
}
static inline unsigned long loops_of_all_schedules(void) {
  unsigned long count = count_of(ompt_callback_work, ompt_work_loop, ompt_scope_begin);
  for (int kind = LOOP_STATIC; kind <= LOOP_OTHER; ++kind)
    count += count_of(ompt_callback_work, kind, ompt_scope_begin);
  return count;
}
static int is_barrier(int kind) {
  return kind <= ompt_sync_region_barrier_implementation ||
         kind >= ompt_sync_region_barrier_implicit_workshare;
}
static inline unsigned long barriers(void) {
  unsigned long count = 0;
  for (int i = 0; i < n_events; ++i)
    count += events[i].what == ompt_callback_sync_region && is_barrier(events[i].kind) &&
             events[i].endpoint == ompt_scope_begin;
  return count;
}

// ---- Order --------------------------------------------------------------------------------------

static struct {
  int what;  // which callback began it; 0: not seen
  int over;
  unsigned long parent, region;
  int open;  // scopes it is in
  int detached, fulfilled;
  struct {
    int what, kind;
  } scopes[DEEPEST];
  unsigned long members, ended;  // of a region
  unsigned long size;
} object[MOST_IDS];

static void begin_object(unsigned long id, int what) {
  if (!id || id >= MOST_IDS) {
    wrong("an id", id, MOST_IDS);
    return;
  }
  must_be("times an object begins", object[id].what != 0, 0);
  object[id].what = what;
}
static void end_object(unsigned long id, int what) {
  must_be("what ends, by the callback that began it", (unsigned long)object[id].what,
          (unsigned long)what);
  must_be("an end's earlier ends", (unsigned long)object[id].over, 0);
  must_be("scopes open at an end", (unsigned long)object[id].open, 0);
  object[id].over = 1;
}
static void scope_event(const event* e) {
  unsigned long task = e->task;
  int* open = &object[task].open;
  must_be("a scope's task is over", (unsigned long)object[task].over, 0);
  if (e->endpoint == ompt_scope_begin) {
    if (*open == DEEPEST) {
      wrong("scopes in each other", DEEPEST, DEEPEST - 1);
      return;
    }
    object[task].scopes[*open].what = e->what;
    object[task].scopes[(*open)++].kind = e->kind;
  } else if (*open == 0) {
    wrong("scopes open where one ends", 0, 1);
  } else {
    --*open;
    must_be("the scope that ends", (unsigned long)e->what,
            (unsigned long)object[task].scopes[*open].what);
    must_be("its kind", (unsigned long)e->kind, (unsigned long)object[task].scopes[*open].kind);
  }
}
static void switch_event(const event* e) {
  must_be("a task that is left begins before", object[e->task].what != 0, 1);
  switch (e->kind) {
    case ompt_task_complete:
      end_object(e->task, ompt_callback_task_create);
      must_be("where a complete task returns to", e->id, object[e->task].parent);
      break;
    case ompt_task_switch:
    case ompt_task_yield:
      must_be("a task that is switched to begins before", object[e->id].what != 0, 1);
      // The first time it is put on top of the one that is left.
      if (object[e->id].what == ompt_callback_task_create && !object[e->id].parent)
        object[e->id].parent = e->task;
      break;
    case ompt_taskwait_complete:
      end_object(e->task, ompt_callback_task_create);
      break;
    // Complete when both are there, in any order: the body may end just as its event is fulfilled.
    case ompt_task_detach:
      must_be("where a detached task returns to", e->id, object[e->task].parent);
      object[e->task].detached = 1;
      if (object[e->task].fulfilled) end_object(e->task, ompt_callback_task_create);
      break;
    case ompt_task_early_fulfill:
    case ompt_task_late_fulfill:
      object[e->task].fulfilled = 1;
      if (object[e->task].detached) end_object(e->task, ompt_callback_task_create);
      break;
    default:
      break;
  }
}
static void in_order(const event* e) {
  switch (e->what) {
    case ompt_callback_thread_begin:
      begin_object(e->id, e->what);
      break;
    case ompt_callback_thread_end:
      end_object(e->id, ompt_callback_thread_begin);
      break;
    case ompt_callback_parallel_begin:
      begin_object(e->id, e->what);
      object[e->id].parent = e->task;
      break;
    case ompt_callback_parallel_end:
      // LLVM's runtime looks at the region's data when the next nested region may have it already,
      // and its workers tell the end of their part later.
      if (!ours) break;
      end_object(e->id, ompt_callback_parallel_begin);
      must_be("who ends a region", e->task, object[e->id].parent);
      must_be("members that began", object[e->id].members, object[e->id].size);
      must_be("members that ended", object[e->id].ended, object[e->id].size);
      break;
    case ompt_callback_implicit_task:
      if (e->endpoint == ompt_scope_begin) {
        begin_object(e->task, e->what);
        object[e->task].region = e->id;
        if (e->kind & ompt_task_initial && e->id == 0) break;  // the program's
        must_be("a member's region begins before", object[e->id].what != 0, 1);
        object[e->id].size = (unsigned long)(uintptr_t)e->code;
        must_be("a member's number, which is below the size", e->number < object[e->id].size, 1);
        ++object[e->id].members;
      } else {
        end_object(e->task, ompt_callback_implicit_task);
        ++object[object[e->task].region].ended;
      }
      break;
    case ompt_callback_task_create:
      begin_object(e->id, e->what);
      break;
    case ompt_callback_task_schedule:
      switch_event(e);
      break;
    case ompt_callback_sync_region:
    case ompt_callback_sync_region_wait:
    case ompt_callback_work:
    case ompt_callback_masked:
      scope_event(e);
      break;
    default:
      break;
  }
}

// The task each thread is in, as its own events tell; 0: not known until the next one.
static unsigned long current[MOST_IDS];

static void in_turn(const event* e) {
  unsigned long* now = &current[e->thread];
  unsigned long task = e->task;
  int begins = e->what == ompt_callback_implicit_task && e->endpoint == ompt_scope_begin;
  if (e->what == ompt_callback_task_schedule &&
      (e->kind == ompt_task_early_fulfill || e->kind == ompt_task_late_fulfill ||
       e->kind == ompt_taskwait_complete)) {
    return;  // of another task than those that take turns
  }
  if (!task) return;
  if (*now && !begins) must_be("the task of an event, which its thread is in", task, *now);
  *now = task;
  if (e->what == ompt_callback_task_schedule) *now = e->id;
  // Another one on the thread goes on.
  if (e->what == ompt_callback_implicit_task && !begins) *now = 0;
}

static void check_order(void) {
  for (int i = 0; i < n_events; ++i) {
    must_be("the thread of an event is known", events[i].thread != 0, 1);
    if (events[i].what != ompt_callback_task_dependence && ours) in_turn(&events[i]);
    in_order(&events[i]);
  }
  // LLVM's runtime has workers that last longer.
  for (unsigned long id = 1; id <= last_id && id < MOST_IDS; ++id) {
    if (object[id].what == ompt_callback_thread_begin && !ours) continue;
    if (object[id].what == ompt_callback_parallel_begin && !ours) continue;
    must_be("what begins ends", (unsigned long)object[id].over, 1);
  }
}

// ---- The tool -----------------------------------------------------------------------------------

static void watch(ompt_callbacks_t what, ompt_callback_t callback, ompt_set_result_t at_least) {
  ompt_set_result_t result = set_callback(what, callback);
  if (result < at_least) wrong("how often an event is told of", result, at_least);
}
#define WATCH(event, often) watch(ompt_callback_##event, (ompt_callback_t)on_##event, often)

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device;
  must_be("what the tool put into its data", data->value, 4711);
  look_up = lookup;
  set_callback = (ompt_set_callback_t)lookup("ompt_set_callback");
  get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
  get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
  get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
  get_state = (ompt_get_state_t)lookup("ompt_get_state");
  WATCH(thread_begin, ompt_set_always);
  WATCH(thread_end, ompt_set_always);
  WATCH(parallel_begin, ompt_set_always);
  WATCH(parallel_end, ompt_set_always);
  WATCH(implicit_task, ompt_set_always);
  WATCH(task_create, ompt_set_always);
  WATCH(task_schedule, ompt_set_always);
  WATCH(sync_region, ompt_set_always);
  WATCH(sync_region_wait, ompt_set_always);
  WATCH(work, ompt_set_sometimes);
  WATCH(masked, ompt_set_sometimes);
  WATCH(mutex_acquire, ompt_set_sometimes);
  WATCH(mutex_acquired, ompt_set_sometimes);
  WATCH(mutex_released, ompt_set_sometimes);
  WATCH(nest_lock, ompt_set_always);
  WATCH(lock_init, ompt_set_always);
  WATCH(lock_destroy, ompt_set_always);
  WATCH(dependences, ompt_set_sometimes);
  WATCH(task_dependence, ompt_set_sometimes);
  return 1;
}

static void finalize(ompt_data_t* data) {
  must_be("the tool's data at the end", data->value, 4711);
  must_be("events that were noted", n_events <= MOST_EVENTS, 1);
  check_order();
  events_expected();
  ++finalized;
}
// Ends the tool, and tells whether all was right.
static int leave_tool(void) {
  if (look_up) ((ompt_finalize_tool_t)look_up("ompt_finalize_tool"))();
  must_be("times the tool was left", (unsigned long)finalized, 1);
  return bad != 0;
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt_start_tool_result_t result = {initialize, finalize, {4711}};
  ours = strncmp(runtime, "Roost", 5) == 0;
  if (ours) must_be("the version", version, 202111);
  return &result;
}

// What a tool may ask: about its thread, the tasks and regions it is in, and the machine.
//
// header: omp-tools.h
// flags: -rdynamic
// threads: 1 2 7
// reference: no
// reason: some answers are this runtime's own
#include <omp.h>
#include <pthread.h>

#include "ompt_events.h"

static void* function(const char* name) {
  void* found = (void*)look_up(name);
  must_be(name, found != NULL, 1);
  return found;
}

static void states_have_names(void) {
  ompt_enumerate_states_t next = (ompt_enumerate_states_t)function("ompt_enumerate_states");
  int state = ompt_state_undefined, count = 0, parallel = 0;
  const char* name = NULL;
  while (count < 100 && next(state, &state, &name)) {
    ++count;
    if (state == ompt_state_work_parallel) parallel = !strcmp(name, "ompt_state_work_parallel");
  }
  must_be("there are states, but not for ever", count > 5 && count < 50, 1);
  must_be("one of them is named as it should be", (unsigned long)parallel, 1);
  ompt_enumerate_mutex_impls_t impls =
      (ompt_enumerate_mutex_impls_t)function("ompt_enumerate_mutex_impls");
  int impl = 0;
  must_be("there is a mutex", (unsigned long)impls(0, &impl, &name), 1);
  must_be("but one", (unsigned long)impls(impl, &impl, &name), 0);
}

static void the_machine_is_known(void) {
  ompt_get_num_procs_t procs = (ompt_get_num_procs_t)function("ompt_get_num_procs");
  must_be("cores", (unsigned long)procs(), (unsigned long)omp_get_num_procs());
  ompt_get_proc_id_t proc = (ompt_get_proc_id_t)function("ompt_get_proc_id");
  must_be("this thread is on a CPU", proc() >= 0, 1);
  ompt_get_num_places_t places = (ompt_get_num_places_t)function("ompt_get_num_places");
  must_be("places", (unsigned long)places(), (unsigned long)omp_get_num_places());
  ompt_get_partition_place_nums_t partition =
      (ompt_get_partition_place_nums_t)function("ompt_get_partition_place_nums");
  must_be("places of the partition", (unsigned long)partition(0, NULL),
          (unsigned long)omp_get_partition_num_places());
  ompt_get_place_proc_ids_t ids = (ompt_get_place_proc_ids_t)function("ompt_get_place_proc_ids");
  must_be("CPUs of no place", (unsigned long)ids(-1, 0, NULL), 0);
  ompt_get_place_num_t place = (ompt_get_place_num_t)function("ompt_get_place_num");
  if (places() == 0) must_be("a place where there is none", place() == -1, 1);
  ompt_get_num_devices_t devices = (ompt_get_num_devices_t)function("ompt_get_num_devices");
  must_be("devices", (unsigned long)devices(), (unsigned long)omp_get_num_devices());
  ompt_get_target_info_t target = (ompt_get_target_info_t)function("ompt_get_target_info");
  uint64_t device;
  ompt_id_t region, operation;
  must_be("a target region", (unsigned long)target(&device, &region, &operation), 0);
  must_be("what is not there", look_up("ompt_no_such_function") != NULL, 0);
}

static void* ask_from_outside(void* argument) {
  ompt_get_proc_id_t proc = (ompt_get_proc_id_t)function("ompt_get_proc_id");
  must_be("the CPU of a thread that OpenMP does not know", proc() == -1, 1);
  ompt_wait_id_t wait;
  must_be("its state", (unsigned long)get_state(&wait), ompt_state_work_serial);
  return argument;
}

static void strangers_are_told_nothing(void) {
  pthread_t stranger;
  must_be("a thread", (unsigned long)pthread_create(&stranger, NULL, ask_from_outside, NULL), 0);
  pthread_join(stranger, NULL);
}

static void callbacks_are_told(void) {
  ompt_get_callback_t get = (ompt_get_callback_t)function("ompt_get_callback");
  ompt_callback_t set = NULL;
  must_be("there is a callback", (unsigned long)get(ompt_callback_work, &set), 1);
  must_be("it is the one that was set", set == (ompt_callback_t)on_work, 1);
  must_be("there is none for flush", (unsigned long)get(ompt_callback_flush, &set), 0);
  must_be("targets", set_callback(ompt_callback_target, (ompt_callback_t)on_work), ompt_set_never);
  must_be("no event", set_callback((ompt_callbacks_t)999, NULL), ompt_set_error);
}

static unsigned long region_of(int level, int* size) {
  ompt_data_t* data = NULL;
  return get_parallel_info(level, &data, size) == 2 ? data->value : 0;
}
static unsigned long task_of(int level, int* flags, int* number) {
  ompt_data_t* data = NULL;
  return get_task_info(level, flags, &data, NULL, NULL, number) == 2 ? data->value : 0;
}

static void ancestors_are_known(void) {
  int members = omp_get_max_threads(), in_tasks = 0;
#pragma omp parallel reduction(+ : in_tasks)
  {
    int size = 0, flags = 0, number = -1;
    unsigned long outer = region_of(0, &size);
    must_be("the region's size", (unsigned long)size, (unsigned long)members);
    unsigned long own = task_of(0, &flags, &number);
    must_be("an implicit task", (unsigned long)flags, ompt_task_implicit | ompt_task_undeferred);
    must_be("the member's number", (unsigned long)number, (unsigned long)omp_get_thread_num());
    must_be("the initial task above", task_of(1, &flags, &number) != 0, 1);
    must_be("its kind", (unsigned long)flags, ompt_task_initial);
    must_be("a task above that", task_of(2, NULL, NULL), 0);
#pragma omp parallel num_threads(2)
    {
      int inner = 0;
      must_be("the inner region", region_of(0, &inner) != outer && inner == 2, 1);
      must_be("the outer region, from within", region_of(1, NULL), outer);
      must_be("its member's task", task_of(1, NULL, NULL), own);
    }
#pragma omp task if (0) shared(in_tasks)
    {
      int kind = 0;
      must_be("the task below an undeferred one", task_of(1, NULL, NULL), own);
      must_be("an undeferred task", task_of(0, &kind, NULL) != own, 1);
      must_be("its flags", (unsigned long)kind, ompt_task_explicit | ompt_task_undeferred);
      ++in_tasks;
    }
    must_be("the task behind it", task_of(0, NULL, NULL), own);
  }
  must_be("undeferred tasks", (unsigned long)in_tasks, (unsigned long)members);
}

static void states_are_right(void) {
  ompt_wait_id_t wait;
  must_be("the initial thread", (unsigned long)get_state(&wait), ompt_state_work_serial);
#pragma omp parallel
  {
    must_be("a member", (unsigned long)get_state(NULL), ompt_state_work_parallel);
#pragma omp barrier
    must_be("a member after a barrier", (unsigned long)get_state(NULL), ompt_state_work_parallel);
#pragma omp critical
    must_be("a member in a critical region", (unsigned long)get_state(NULL),
            ompt_state_work_parallel);
  }
}

static void numbers_are_unique(void) {
  ompt_get_unique_id_t unique = (ompt_get_unique_id_t)function("ompt_get_unique_id");
  // The thread's number and one that counts; members may share a thread.
  enum { EACH = 3000, MOST = 64 };
  static unsigned char seen[MOST * 4][MOST * EACH];
#pragma omp parallel
  for (int i = 0; i < EACH; ++i) {
    uint64_t id = unique(), thread = id >> 48, count = id & 0xffffffffffff;
    int in_range = thread < MOST * 4 && count < MOST * EACH;
    must_be("a unique number is a thread's", in_range, 1);
    if (in_range) must_be("and new", __atomic_exchange_n(&seen[thread][count], 1, 5), 0);
  }
}

static void errno_is_the_programs(void) {
  errno = EDOM;
#pragma omp parallel
  {
#pragma omp critical
    {}
  }
  must_be("errno", (unsigned long)errno, EDOM);
}

static void events_expected(void) {}

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(4);
  omp_get_max_threads();
  states_have_names();
  the_machine_is_known();
  strangers_are_told_nothing();
  callbacks_are_told();
  ancestors_are_known();
  states_are_right();
  numbers_are_unique();
  errno_is_the_programs();
  return leave_tool();
}

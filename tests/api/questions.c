// What a runtime may ask about cores and the instance.
#include "api.h"

CASE(the_library_is_the_headers_version) { EXPECT_EQ(roost_api_version(), ROOST_API_VERSION); }

CASE(every_core_is_described) {
  struct roost_core_info info, other;
  uint32_t count = roost_core_count();
  EXPECT(count >= 1);
  for (uint32_t core = 0; core < count; ++core) {
    EXPECT_EQ(roost_core_info(core, &info), 0);
    EXPECT(info.os_cpu < 1024);
    EXPECT(info.node < count && info.socket < count && info.cache < count);
    for (uint32_t before = 0; before < core; ++before) {
      EXPECT_EQ(roost_core_info(before, &other), 0);
      EXPECT(other.os_cpu != info.os_cpu);
    }
  }
  EXPECT_EQ(roost_core_info(count, &info), -EINVAL);
  EXPECT_EQ(roost_core_info(UINT32_MAX, &info), -EINVAL);
}

CASE(the_cores_are_as_many_as_libc_tells) {
  EXPECT_EQ(sysconf(_SC_NPROCESSORS_ONLN), roost_core_count());
}

CASE(a_thread_runs_on_the_core_it_owns) {
  struct roost_core_info info;
  for (int i = 0; i < 100; ++i) {
    int core = roost_core();
    EXPECT(core >= 0 && (uint32_t)core < roost_core_count());
    EXPECT_EQ(roost_core_info((uint32_t)core, &info), 0);
    EXPECT_EQ(sched_getcpu(), info.os_cpu);
    roost_yield();
  }
}

CASE(no_more_cores_are_idle_than_others_can_leave) {
  struct roost_state state;
  EXPECT_EQ(roost_state(&state), 0);
  EXPECT_EQ(state.cores, roost_core_count());
  EXPECT(state.idle_cores < state.cores);  // this thread owns one
  EXPECT(state.others_cores < state.cores);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(state.reserved[i], 0);
}

CASE(names_stay_valid) {
  const char* instance = roost_instance_name();
  const char* policy = roost_policy_name();
  EXPECT(roost_instance_name() == instance);
  EXPECT(roost_policy_name() == policy);
  EXPECT_EQ(strcmp(instance, test_config().instance), 0);
  EXPECT(policy[0] != 0);
}

static roost_thread other;
static void* wait_for_permit(void* unused) {
  __atomic_store_n(&other, roost_self(), __ATOMIC_RELEASE);
  roost_block();
  return unused;
}

// Blocked it is not; unblocked, it is until it is granted a core: by this thread's yields, if there
// is no other core.
CASE(a_thread_is_ready_while_it_only_waits_for_a_core) {
  pthread_t thread;
  EXPECT_EQ(roost_ready(roost_self()), 0);
  EXPECT_EQ(roost_ready(ROOST_NO_THREAD), -ESRCH);
  EXPECT_EQ(pthread_create(&thread, NULL, wait_for_permit, NULL), 0);
  while (!__atomic_load_n(&other, __ATOMIC_ACQUIRE)) roost_yield();
  usleep(20000);
  EXPECT_EQ(roost_ready(other), 0);
  EXPECT_EQ(roost_unblock(other), 0);
  int ready = roost_ready(other);
  if (roost_core_count() == 1) EXPECT_EQ(ready, 1);
  EXPECT(ready == 0 || ready == 1 || ready == -ESRCH);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

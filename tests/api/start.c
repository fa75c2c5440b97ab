// roost_start: what it refuses, what it makes active, and joining an instance by name.
#define STARTS_BY_ITSELF
#include <sys/mman.h>

#include "api.h"
#include "posix/child.h"

// Started by `roost run`, a program finds all done.
static int by_roost_run(void) { return getenv("ROOST_INSTANCE") != NULL; }

CASE(before_the_start_nothing_is_active) {
  if (by_roost_run()) SKIP("started by roost run");
  struct roost_core_info info;
  struct roost_state state;
  EXPECT_EQ(roost_active(), 0);
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  EXPECT_EQ(roost_attach(), -ENOTCONN);
  EXPECT_EQ(roost_detach(), -ENOTCONN);
  EXPECT_EQ(roost_block(), -ENOTCONN);
  EXPECT_EQ(roost_block_until(0), -ENOTCONN);
  EXPECT_EQ(roost_unblock(0x100000), -ENOTCONN);
  EXPECT_EQ(roost_yield(), -ENOTCONN);
  EXPECT_EQ(roost_pass_point(), -ENOTCONN);
  EXPECT_EQ(roost_enter_blocking(), -ENOTCONN);
  EXPECT_EQ(roost_leave_blocking(), -ENOTCONN);
  EXPECT_EQ(roost_core(), -1);
  EXPECT_EQ(roost_core_count(), 0);
  EXPECT_EQ(roost_core_info(0, &info), -ENOTCONN);
  EXPECT_EQ(roost_others_wait(), 0);
  EXPECT_EQ(roost_state(&state), -ENOTCONN);
  EXPECT(roost_instance_name() == NULL);
  EXPECT(roost_policy_name() == NULL);
}

CASE(what_is_not_valid_is_refused_and_starts_nothing) {
  if (by_roost_run()) SKIP("started by roost run");
  char too_long[65];
  memset(too_long, 'x', 64);
  too_long[64] = 0;
  const char* const names[] = {"", "a/b", "..", "with space", too_long};
  struct roost_config config = test_config();
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(names[i], "..") == 0) continue;  // a name like any other behind the segment's prefix
    config.instance = names[i];
    EXPECT_EQ(roost_start(&config), -EINVAL);
  }
  config = test_config();
  config.policy = "no-such-policy";
  EXPECT_EQ(roost_start(&config), -EINVAL);
  config = test_config();
  config.reserved[8] = 1;
  EXPECT_EQ(roost_start(&config), -EINVAL);
  EXPECT_EQ(roost_active(), 0);
}

static void* start_elsewhere(void* data) {
  struct roost_config config = test_config();
  EXPECT_EQ(roost_start(&config), 0);
  EXPECT(roost_self() != ROOST_NO_THREAD);
  return data;
}

static void* outlive_the_starter(void* data) {
  join_thread(start_thread(start_elsewhere, NULL));
  return data;
}

static void* attach(void* data) {
  struct sleeper {
    shared_handle handle;
    atomic_int go;
  }* sleeper = data;
  wait_for(&sleeper->go, 1);
  int attached = roost_attach();
  if (attached != 0) EXPECT_EQ(attached, -EALREADY);
  atomic_store(&sleeper->handle, roost_self());
  EXPECT_EQ(roost_block(), 0);
  return data;
}

// For the cases below: what must happen in a process that has not started yet. It must come to its
// end.
enum { AT_THE_END = 7 };

ROLE(start_in_a_thread_that_ends) {
  outlive_the_starter(NULL);
  EXPECT_EQ(roost_active(), 1);
  join_thread(start_thread(outlive_the_starter, NULL));
  int attached = roost_attach();
  if (attached != 0) EXPECT_EQ(attached, -EALREADY);
  EXPECT(roost_core() >= 0);
  exit(AT_THE_END);
}

ROLE(start_after_other_threads) {
  struct {
    shared_handle handle;
    atomic_int go;
  } sleeper = {0};
  pthread_t older = start_thread(attach, &sleeper);
  start_elsewhere(NULL);
  atomic_store(&sleeper.go, 1);
  EXPECT_EQ(roost_unblock(handle_in(&sleeper.handle)), 0);
  join_thread(older);
  for (int i = 0; i < 10; ++i) join_thread(start_thread(start_elsewhere, NULL));
  exit(AT_THE_END);
}

ROLE(end_with_the_last_thread) {
  start_elsewhere(NULL);
  start_thread(start_elsewhere, NULL);
  pthread_exit(NULL);
}

static atomic_int at_once, active_calls;
static void* start_at_once(void* data) {
  struct roost_config config = test_config();
  atomic_fetch_add(&at_once, 1);
  wait_for(&at_once, 4);
  int result = roost_start(&config);
  if (result != 0) EXPECT_EQ(result, -EALREADY);
  if (result == 0) atomic_fetch_add(&active_calls, 1);
  return data;
}

ROLE(start_from_many_threads) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) threads[i] = start_thread(start_at_once, NULL);
  for (int i = 0; i < 4; ++i) join_thread(threads[i]);
  EXPECT(active_calls >= 1);
  EXPECT_EQ(roost_active(), 1);
  exit(AT_THE_END);
}

CASE(any_thread_may_start_and_the_others_may_attach) {
  EXPECT_EQ(outcome_of_role("@start_in_a_thread_that_ends"), AT_THE_END);
  EXPECT_EQ(outcome_of_role("@start_after_other_threads"), AT_THE_END);
  EXPECT_EQ(outcome_of_role("@start_from_many_threads"), AT_THE_END);
}

CASE(a_process_started_before_its_threads_ends_with_the_last) {
  EXPECT_EQ(outcome_of_role("@end_with_the_last_thread"), 0);
}

CASE(the_start_makes_the_caller_an_attached_thread) {
  struct roost_config config = test_config();
  errno = EXDEV;
  EXPECT_EQ(roost_start(&config), 0);
  EXPECT_EQ(errno, EXDEV);
  EXPECT_EQ(roost_active(), 1);
  EXPECT(roost_self() != ROOST_NO_THREAD);
  roost_yield();  // the watchdog may have had the core while a case above waited for a child
  EXPECT(roost_core() >= 0);
  EXPECT_EQ(strcmp(roost_instance_name(), config.instance), 0);
  EXPECT_EQ(strcmp(roost_policy_name(), "coop"), 0);
  if (config.cores) EXPECT_EQ(roost_core_count(), config.cores);
}

CASE(once_active_a_start_changes_nothing) {
  struct roost_config other = {.instance = "some-other-name", .policy = "no-such-policy"};
  roost_thread before = roost_self();
  EXPECT_EQ(roost_start(&other), 0);
  EXPECT_EQ(roost_start(NULL), 0);
  EXPECT_EQ(roost_self(), before);
  EXPECT_EQ(strcmp(roost_instance_name(), test_config().instance), 0);
}

struct meeting {
  shared_handle first, second;
  uint32_t cores;
};

static struct meeting* shared_meeting(int fd) {
  struct meeting* meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT(meeting != MAP_FAILED);
  return meeting;
}

enum { MEETING_FD = 9, ROUNDS = 200 };

ROLE(meet) {
  struct meeting* meeting = shared_meeting(MEETING_FD);
  struct roost_config config = test_config();
  config.cores = 1;  // the instance has its cores already
  EXPECT_EQ(roost_start(&config), 0);
  EXPECT_EQ(roost_core_count(), meeting->cores);
  atomic_store(&meeting->second, roost_self());
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(roost_block(), 0);
    EXPECT_EQ(roost_unblock(meeting->first), 0);
  }
}

CASE(another_program_joins_by_name_and_hands_work_over) {
  struct roost_config config = test_config();
  EXPECT_EQ(roost_start(&config), 0);
  int fd = memfd_create("meeting", 0);
  EXPECT_EQ(ftruncate(fd, sizeof(struct meeting)), 0);
  EXPECT_EQ(dup2(fd, MEETING_FD), MEETING_FD);
  struct meeting* meeting = shared_meeting(fd);
  meeting->cores = roost_core_count();
  atomic_store(&meeting->first, roost_self());
  pid_t other = start_role("@meet", -1);
  roost_thread second = handle_in(&meeting->second);
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(roost_unblock(second), 0);
    EXPECT_EQ(roost_block(), 0);
  }
  EXPECT_EQ(outcome_of(other), 0);
  close(MEETING_FD);
  close(fd);
}

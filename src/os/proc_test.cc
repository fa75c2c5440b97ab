// Whether processes and threads are told to be alive as they are.
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "os/child_test.h"
#include "os/sys.h"

namespace roost {
namespace {

TEST(Proc, a_process_is_alive_until_it_is_a_zombie) {
  Child child([](auto ready) {
    ready();
    sleep_for_ever();
  });
  std::uint64_t start = os::process_start_time(child.pid());
  EXPECT_TRUE(os::process_alive(child.pid(), start));
  child.kill_now();
  EXPECT_FALSE(os::process_alive(child.pid(), start));
  child.kill_and_reap();
  EXPECT_FALSE(os::process_alive(child.pid(), start));
}

TEST(Proc, another_process_with_the_same_pid_is_not_it) {
  std::uint64_t start = os::process_start_time(getpid());
  EXPECT_TRUE(os::process_alive(getpid(), start));
  EXPECT_FALSE(os::process_alive(getpid(), start + 1));
}

TEST(Proc, a_process_whose_first_thread_has_ended_is_alive) {
  Child child([](auto ready) {
    pid_t first = os::gettid();
    std::thread([ready, first] {
      while (os::thread_run_state(getpid(), first) != 'Z') sched_yield();
      ready();
      sleep_for_ever();
    }).detach();
    os::raw_syscall(SYS_exit, 0);
  });
  std::uint64_t start = os::process_start_time(child.pid());
  EXPECT_EQ(os::thread_run_state(child.pid(), child.pid()), 'Z');
  EXPECT_TRUE(os::process_alive(child.pid(), start));
  child.kill_now();
  EXPECT_FALSE(os::process_alive(child.pid(), start));
}

TEST(Proc, a_name_with_brackets_and_spaces_is_no_trap) {
  Child child([](auto ready) {
    prctl(PR_SET_NAME, "a) Z 1 (b");
    ready();
    sleep_for_ever();
  });
  EXPECT_TRUE(os::process_alive(child.pid(), os::process_start_time(child.pid())));
}

TEST(Proc, a_running_thread_is_told_from_one_that_is_gone) {
  EXPECT_EQ(os::thread_run_state(getpid(), os::gettid()), 'R');
  EXPECT_EQ(os::thread_run_state(getpid(), 0x3fffffff), 0);
}

}  // namespace
}  // namespace roost

// Whether processes and threads are told to be alive as they are.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

TEST(Proc, a_process_has_a_name_which_may_hold_brackets) {
  char before[16], name[os::kProcessNameBytes];
  ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
  for (const char* wanted : {"a) S (b", "", "fifteen bytes!!"}) {
    ASSERT_EQ(prctl(PR_SET_NAME, wanted), 0);
    EXPECT_NE(os::process_start_time(getpid(), &name), 0u);
    EXPECT_STREQ(name, wanted);
  }
  ASSERT_EQ(prctl(PR_SET_NAME, before), 0);
  EXPECT_EQ(os::process_start_time(0, &name), 0u);
  EXPECT_STREQ(name, "");
}

TEST(Proc, the_start_of_a_child_follows_from_the_clock) {
  EXPECT_EQ(os::start_time_between(20'000'000, 29'999'999), 2u);
  EXPECT_EQ(os::start_time_between(19'999'999, 20'000'000), 0u);
  int told = 0;
  for (int tries = 0; told < 5; ++tries) {
    ASSERT_LT(tries, 1000);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Nanoseconds before = os::clock_ns(CLOCK_BOOTTIME), after = 0;
    pid_t child = fork();
    if (child == 0) {
      after = os::clock_ns(CLOCK_BOOTTIME);
      _exit(write(ends[1], &after, sizeof after) == sizeof after ? 0 : 1);
    }
    ASSERT_EQ(read(ends[0], &after, sizeof after), ssize_t{sizeof after});
    if (std::uint64_t start = os::start_time_between(before, after)) {
      EXPECT_EQ(start, os::process_start_time(child));
      ++told;
    }
    close(ends[0]);
    close(ends[1]);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
}

TEST(Proc, a_launcher_is_the_nearest_process_without_the_variables_of_its_ranks) {
  FILE* rank = popen("exec env ROOST_TEST_RANK=0 sh -c 'sleep 60 & echo $!; wait'", "r");
  ASSERT_NE(rank, nullptr);
  int inside_rank = 0;
  ASSERT_EQ(fscanf(rank, "%d", &inside_rank), 1);
  EXPECT_EQ(os::ancestor_without(inside_rank, "ROOST_TEST_RANK"), getpid());
  EXPECT_EQ(os::ancestor_without(inside_rank, "ROOST_TEST_RAN"), os::parent_of(inside_rank));
  EXPECT_EQ(os::ancestor_without(1, "ROOST_TEST_RANK"), 0);
  kill(inside_rank, SIGTERM);
  pclose(rank);
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

TEST(Proc, a_slice_is_asked_for_and_nothing_else_changes) {
  std::thread([] {
    os::SchedulingAttributes before{}, after{};
    ASSERT_EQ(os::scheduling_attributes(before), 0);
    os::request_slice(100'000);
    ASSERT_EQ(os::scheduling_attributes(after), 0);
    EXPECT_EQ(after.policy, before.policy);
    EXPECT_EQ(after.nice, before.nice);
    EXPECT_EQ(after.flags, before.flags);
    // Kernels before 6.12 keep their own.
    EXPECT_TRUE(after.runtime == 100'000 || after.runtime == before.runtime) << after.runtime;
  }).join();
}

TEST(Proc, a_thread_that_runs_only_when_others_do_not_asks_for_no_slice) {
  std::thread([] {
    sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    os::SchedulingAttributes before{}, after{};
    ASSERT_EQ(os::scheduling_attributes(before), 0);
    os::request_slice(100'000);
    ASSERT_EQ(os::scheduling_attributes(after), 0);
    EXPECT_EQ(after.policy, static_cast<std::uint32_t>(SCHED_IDLE));
    EXPECT_EQ(after.runtime, before.runtime);
  }).join();
}

}  // namespace
}  // namespace roost

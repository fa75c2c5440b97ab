// What a thread learns of its wakes, and where the ledger lets those it wakes wait for it.
#include "sched/leaves_soon.h"

#include <gtest/gtest.h>

#include <new>

#include "sched/attendance.h"
#include "sched/local_instance_test.h"

namespace roost {
namespace {

constexpr std::uint64_t kAtOnce = 500, kLater = 2 * LeavesSoon::kSoon;

void woke(LeavesSoon& thread, std::uint64_t now) {
  thread.woke([=] { return now; });
}
void leaves(LeavesSoon& thread, std::uint64_t now) {
  thread.leaves([=] { return now; });
}

// So many turns, in each of which it wakes somebody and leaves its core after that.
std::uint64_t turns(LeavesSoon& thread, std::uint64_t now, int n, std::uint64_t after) {
  for (int i = 0; i < n; ++i) {
    woke(thread, now += 100);
    leaves(thread, now += after);
  }
  return now;
}

TEST(LeavesSoon, is_likely_once_it_has_done_so_often_enough) {
  LeavesSoon thread;
  std::uint64_t now = turns(thread, 1, LeavesSoon::kEnough - 1, kAtOnce);
  EXPECT_FALSE(thread.is_likely());
  turns(thread, now, 1, kAtOnce);
  EXPECT_TRUE(thread.is_likely());
}

TEST(LeavesSoon, is_not_likely_after_one_wake_that_it_did_not_follow) {
  LeavesSoon thread;
  std::uint64_t now = turns(thread, 1, LeavesSoon::kEnough, kAtOnce);
  turns(thread, now, 1, kLater);
  EXPECT_FALSE(thread.is_likely());
}

TEST(LeavesSoon, only_the_first_wake_of_a_run_counts) {
  LeavesSoon thread;
  std::uint64_t now = turns(thread, 1, LeavesSoon::kEnough, kAtOnce);
  woke(thread, now);
  EXPECT_FALSE(thread.is_likely());  // it has something to wake others for, before it leaves
  woke(thread, now + kLater);
  leaves(thread, now + kLater + kAtOnce);
  EXPECT_FALSE(thread.is_likely());
}

TEST(LeavesSoon, runs_without_wakes_teach_nothing) {
  LeavesSoon thread;
  std::uint64_t now = turns(thread, 1, LeavesSoon::kEnough, kAtOnce);
  leaves(thread, now + kLater);
  EXPECT_TRUE(thread.is_likely());
}

// Hands of a thread that is about to leave that core.
struct LeavingOs : FakeOs {
  CoreIndex leaves = kNoCore;
  CoreIndex core_about_to_leave() const { return leaves; }
};

// 0 has core 0 and is about to leave it; 1 has left core 1 idle; the others wait.
struct Leaving : testing::Test {
  LocalInstanceOn<LeavingOs> i{TestMachine{1, 2}, 4};
  Leaving() {
    for (ThreadIndex thread = 0; thread < 4; ++thread) i.place(thread, 0);
    i.wake(0);
    i.os.leaves = 0;
  }
  void attend() { i.ledger.attend(1, i.os.clock); }
  void sleeps(ThreadIndex thread, CoreIndex last) {
    i.place(thread, 0, last);
    i.threads[thread].state |= kSleeping;
  }
};

TEST_F(Leaving, whom_it_wakes_waits_for_it_where_a_core_is_attended) {
  attend();
  i.wake(2);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{2}));
  EXPECT_EQ(i.owner(1), kNoThread);
  i.block(0);
  EXPECT_EQ(i.core(2), 0);
  EXPECT_EQ(i.threads[2].counters.behind, 1u);
}

TEST_F(Leaving, else_the_idle_core_gets_it) {
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, so_it_does_if_the_waker_is_likely_to_go_on) {
  attend();
  i.os.leaves = kNoCore;
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, on_a_core_that_is_late_it_would_wait_for_longer) {
  i.ledger.note_late(1, i.os.clock);
  i.wake(2);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{2}));
  i.place(3, 0, 1);  // at home there
  i.block(0);
  i.os.leaves = kNoCore;
  i.wake(3);
  EXPECT_EQ(i.core(3), 1);  // whose waker does not leave
}

TEST_F(Leaving, so_would_one_that_is_at_home_there) {
  i.ledger.note_late(1, i.os.clock);
  i.place(2, 0, 1);
  i.wake(2);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{2}));
}

TEST_F(Leaving, but_not_behind_a_waker_whose_core_is_late_itself) {
  for (CoreIndex core : {0, 1}) i.ledger.note_late(core, i.os.clock);
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, a_second_one_does_not_wait_behind_the_first) {
  attend();
  i.wake(2);
  i.wake(3);
  EXPECT_TRUE(i.core(2) == 1 || i.core(3) == 1);
}

TEST_F(Leaving, the_end_of_the_attendance_serves_who_waits) {
  attend();
  i.wake(2);
  i.ledger.end_attendance(1);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, an_attendant_whose_core_is_taken_serves_nobody) {
  attend();
  i.wake(2);
  i.os.leaves = kNoCore;
  i.place(3, 0, 1);
  i.wake(3);
  i.ledger.end_attendance(1);
  EXPECT_TRUE(i.core(2) == 1 || i.core(3) == 1);
  EXPECT_EQ(i.broken(), "");
}

TEST_F(Leaving, the_attendant_serves_who_waits_for_too_long) {
  Attendance attendance(i.ledger, 1, i.os.clock);
  i.wake(2);
  attendance.look(i.os.clock);
  attendance.look(i.os.clock + 100);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{2}));
  attendance.look(i.os.clock + decltype(attendance)::kTooLong);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, a_jump_out_of_the_attendance_serves_who_waits) {
  using Attending = Attendance<LocalInstanceOn<LeavingOs>::TestLedger>;
  alignas(Attending) char left_behind[sizeof(Attending)];
  new (left_behind) Attending(i.ledger, 1, i.os.clock);
  i.wake(2);
  Attending::abandon(i.ledger);
  EXPECT_EQ(i.core(2), 1);
  EXPECT_EQ(i.cores[1].attended_ns.load(), 0u);
  Attending::abandon(i.ledger);  // there is none any more
}

TEST_F(Leaving, an_attendance_within_another_leaves_that_to_its_own_end) {
  Attendance outer(i.ledger, 1, i.os.clock);
  { Attendance inner(i.ledger, 0, i.os.clock); }
  EXPECT_EQ(self.attends, 1);
}

TEST_F(Leaving, a_core_that_changes_hands_is_left_to_itself) {
  Attendance attendance(i.ledger, 1, i.os.clock);
  i.wake(2);
  attendance.look(i.os.clock);
  i.block(0);  // 2 has the core
  i.wake(0);   // and wakes 0
  attendance.look(i.os.clock + decltype(attendance)::kTooLong);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{0}));
}

TEST_F(Leaving, a_sleeper_of_another_core_goes_where_it_was) {
  attend();
  sleeps(2, 1);
  i.wake(2);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{}));
  EXPECT_EQ(i.queue(1), (std::vector<ThreadIndex>{2}));
}

TEST_F(Leaving, one_that_spins_there_has_it_at_once) {
  attend();
  i.place(2, 0, 1);
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, an_attendant_that_has_not_looked_for_long_is_not_relied_on) {
  attend();
  i.os.clock += 1'000'000;
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Leaving, nor_is_a_core_that_was_never_attended) {
  i.os.clock = 1'000;  // the machine has just begun
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

// 0 and 1 have a core each, 2 attends the third; 3 waits for core 0 and 4 for core 1.
TEST(Attending, a_queue_that_moves_does_not_hide_another_that_does_not) {
  LocalInstanceOn<LeavingOs> i{TestMachine{1, 3}, 5};
  for (ThreadIndex thread = 0; thread < 5; ++thread)
    i.place(thread, 0, static_cast<CoreIndex>(thread % 3));
  i.wake(0);
  i.wake(1);
  Attendance attendance(i.ledger, 2, i.os.clock);
  for (ThreadIndex waker : {0, 1}) {
    i.os.leaves = static_cast<CoreIndex>(waker);
    i.place(waker + 3, 0, i.os.leaves);
    i.wake(waker + 3);
  }
  for (int look = 0; look < 8; ++look) {
    i.cores[0].count_pass();
    attendance.look(i.os.clock += 1'000);
  }
  EXPECT_NE(i.owner(2), kNoThread);
}

// 0 has core 0 and goes on computing after its wakes; 1 attends core 1; the others sleep.
struct Attended : Leaving {
  Attendance<LocalInstanceOn<LeavingOs>::TestLedger> attendance{i.ledger, 1, i.os.clock};
  Attended() {
    i.os.leaves = kNoCore;
    sleeps(2, 1);
    sleeps(3, 1);
  }
};

TEST_F(Attended, whom_another_wakes_is_left_to_the_attendant) {
  i.wake(2);
  EXPECT_EQ(i.queue(1), (std::vector<ThreadIndex>{2}));
  EXPECT_EQ(i.owner(1), kNoThread);
  attendance.serve();
  EXPECT_EQ(i.core(2), 1);
  EXPECT_EQ(i.threads[2].counters.attended, 1u);
}

TEST_F(Attended, so_is_who_finds_its_own_core_busy) {
  sleeps(2, 0);
  i.wake(2);
  attendance.serve();
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Attended, who_is_awake_gets_the_core_at_once) {
  i.threads[2].state &= ~kSleeping;
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Attended, a_second_one_comes_after_the_first) {
  i.wake(2);
  i.wake(3);
  EXPECT_EQ(i.core(2), 1);
  EXPECT_EQ(i.queue(1), (std::vector<ThreadIndex>{3}));
}

TEST_F(Attended, a_core_that_goes_idle_leaves_them_to_the_attendant) {
  i.wake(2);
  i.block(0);
  EXPECT_EQ(i.owner(0), kNoThread);
  EXPECT_EQ(i.queue(1), (std::vector<ThreadIndex>{2}));
}

TEST_F(Attended, but_not_to_one_that_has_not_looked_for_long) {
  i.wake(2);
  i.os.clock += 1'000'000;
  i.block(0);
  EXPECT_EQ(i.core(2), 0);
}

TEST_F(Attended, nor_to_one_whose_cpu_was_kept_from_it_of_late) {
  i.ledger.note_late(1, i.os.clock);
  i.ledger.end_attendance(1);
  attendance.look(i.os.clock += 1'000);
  i.wake(2);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Attended, which_is_forgiven_in_time) {
  i.ledger.note_late(1, i.os.clock);
  attendance.look(i.os.clock += 1'000'000'000);
  i.wake(2);
  EXPECT_EQ(i.queue(1), (std::vector<ThreadIndex>{2}));
}

TEST_F(Attended, the_end_of_the_attendance_serves_them) {
  i.wake(2);
  i.ledger.end_attendance(1);
  EXPECT_EQ(i.core(2), 1);
}

// 0 has core 0, where 2 and 3 are at home; 1 has core 1 and will attend it.
struct Fresh : Leaving {
  Fresh() {
    i.os.leaves = kNoCore;
    i.place(1, 0, 1);
    i.wake(1);
  }
  bool goes_idle(ThreadIndex thread = 1) {
    Held held = i.ledger.core_of(thread);
    EXPECT_EQ(begin_block(i.threads[thread]).block, Block::release);
    return i.ledger.release_to_attend(held, false);
  }
};

TEST_F(Fresh, who_was_woken_a_moment_ago_stays_at_its_core) {
  i.wake(2);
  EXPECT_TRUE(goes_idle());
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{2}));
  i.block(0);
  EXPECT_EQ(i.core(2), 0);
}

TEST_F(Fresh, unless_it_waits_for_longer) {
  i.wake(2);
  EXPECT_TRUE(goes_idle());
  Attendance attendance(i.ledger, 1, i.os.clock);
  attendance.look(i.os.clock);
  attendance.look(i.os.clock + decltype(attendance)::kTooLong);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Fresh, or_has_waited_for_longer) {
  i.wake(2);
  i.os.clock += 10'000;
  EXPECT_FALSE(goes_idle());
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Fresh, or_the_attendance_ends) {
  i.wake(2);
  EXPECT_TRUE(goes_idle());
  Attendance<LocalInstanceOn<LeavingOs>::TestLedger>::end(i.ledger, 1);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Fresh, of_two_one_comes) {
  i.wake(2);
  i.wake(3);
  EXPECT_FALSE(goes_idle());
  EXPECT_EQ(i.core(2), 1);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{3}));
}

TEST_F(Fresh, one_of_the_own_queue_comes) {
  i.place(2, 0, 1);
  i.wake(2);
  EXPECT_FALSE(goes_idle());
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Fresh, it_comes_to_who_does_not_attend) {
  i.wake(2);
  i.block(1);
  EXPECT_EQ(i.core(2), 1);
}

TEST_F(Fresh, and_to_who_has_been_kept_from_its_cpu_of_late) {
  i.ledger.note_late(1, i.os.clock);
  i.wake(2);
  EXPECT_FALSE(goes_idle());
  EXPECT_EQ(i.core(2), 1);
}

// The first three have a core each; 3 attends core 3 and 4 core 4; 5 sleeps.
TEST(TwoAttendants, one_that_ends_leaves_who_waits_behind_a_waker_to_the_other) {
  LocalInstanceOn<LeavingOs> i{TestMachine{1, 5}, 6};
  for (ThreadIndex thread = 0; thread < 6; ++thread)
    i.place(thread, 0, static_cast<CoreIndex>(thread % 5));
  for (ThreadIndex thread : {0, 1, 2}) i.wake(thread);
  for (CoreIndex core : {3, 4}) i.ledger.attend(core, i.os.clock);
  i.os.leaves = 0;
  i.wake(5);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{5}));
  i.ledger.end_attendance(3);
  EXPECT_EQ(i.queue(0), (std::vector<ThreadIndex>{5}));
  i.ledger.end_attendance(4);
  EXPECT_TRUE(i.core(5) == 3 || i.core(5) == 4);
}

}  // namespace
}  // namespace roost

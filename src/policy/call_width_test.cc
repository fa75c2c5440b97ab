// CallWidth against callers of all kinds, as a look at the instance would find them.
#include "policy/call_width.h"

#include <gtest/gtest.h>

namespace roost {
namespace {

// Threads that do nothing but call a library, as a look at the instance finds them.
struct Callers {
  unsigned count;
  unsigned cores;
  unsigned asked;
  bool calls_take_turns = false;   // as threaded calls of OpenBLAS do; those of width 1 do not
  bool lock_of_their_own = false;  // which no width resolves
  bool crews = false;              // a caller does all of its call
  unsigned others = 0;             // callers elsewhere that do not adapt, of one thread each

  CallWidth::Sample look(unsigned width) const {
    bool turns = lock_of_their_own || (calls_take_turns && width > 1);
    CallWidth::Sample sample{};
    sample.cores = cores;
    sample.crews = crews;
    sample.runnable = (turns ? 1 : count) * (crews ? 1 : width);
    sample.lock_waiters = turns ? count - 1 : 0;
    sample.others = CallWidth::kOne * others;
    unsigned all = sample.runnable + others;
    sample.busy_cores = std::min(all, cores);
    sample.any_ready = all > cores;
    return sample;
  }
};

// The width after `looks`, from the one that was asked for.
unsigned width_after(unsigned looks, const Callers& callers, CallWidth& law) {
  unsigned width = callers.asked;
  for (unsigned i = 0; i < looks; ++i) width = law.next(callers.look(width), width, callers.asked);
  return width;
}
unsigned width_after(unsigned looks, const Callers& callers) {
  CallWidth law;
  return width_after(looks, callers, law);
}

TEST(CallWidth, one_caller_gets_all_cores) {
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 2, .asked = 8}), 2u);
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 16, .asked = 28}), 16u);
}

TEST(CallWidth, is_never_more_than_the_program_asked_for) {
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 16, .asked = 4}), 4u);
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 16, .asked = 1}), 1u);
}

TEST(CallWidth, as_many_callers_as_cores_take_one_each) {
  for (bool turns : {false, true}) {
    EXPECT_EQ(width_after(20, {.count = 2, .cores = 2, .asked = 2, .calls_take_turns = turns}), 1u);
    EXPECT_EQ(width_after(20, {.count = 8, .cores = 2, .asked = 8, .calls_take_turns = turns}), 1u);
    EXPECT_EQ(width_after(20, {.count = 28, .cores = 16, .asked = 28, .calls_take_turns = turns}),
              1u);
  }
}

TEST(CallWidth, callers_that_do_all_of_their_calls_are_counted_as_such) {
  EXPECT_EQ(width_after(20, {.count = 2, .cores = 2, .asked = 8, .crews = true}), 1u);
  EXPECT_EQ(width_after(20, {.count = 8, .cores = 16, .asked = 8, .crews = true}), 2u);
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 2, .asked = 8, .crews = true}), 2u);
}

TEST(CallWidth, few_callers_share_the_cores) {
  EXPECT_EQ(width_after(20, {.count = 2, .cores = 16, .asked = 16}), 8u);
  EXPECT_EQ(width_after(20, {.count = 3, .cores = 16, .asked = 16}), 5u);
  EXPECT_EQ(width_after(20, {.count = 3, .cores = 4, .asked = 4}), 1u);
}

TEST(CallWidth, settles_and_stays) {
  for (unsigned count : {1u, 2u, 3u, 5u, 8u, 28u}) {
    for (unsigned cores : {2u, 4u, 16u, 112u}) {
      Callers callers{.count = count, .cores = cores, .asked = cores};
      CallWidth law;
      unsigned settled = width_after(20, callers, law);
      for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(law.next(callers.look(settled), settled, callers.asked), settled)
            << count << " callers on " << cores << " cores";
      }
    }
  }
}

TEST(CallWidth, widens_when_callers_end) {
  CallWidth law;
  unsigned width = width_after(20, {.count = 8, .cores = 8, .asked = 8}, law);
  ASSERT_EQ(width, 1u);
  Callers last{.count = 1, .cores = 8, .asked = 8};
  for (int i = 0; i < 20; ++i) width = law.next(last.look(width), width, 8);
  EXPECT_EQ(width, 8u);
}

TEST(CallWidth, a_moment_changes_nothing) {
  CallWidth law;
  Callers one{.count = 1, .cores = 8, .asked = 8};
  unsigned width = width_after(20, one, law);
  CallWidth::Sample crowd = one.look(width);
  crowd.runnable *= 8;
  EXPECT_EQ(law.next(crowd, width, 8), width);
}

TEST(CallWidth, other_processes_count) {
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 16, .asked = 16, .others = 7}), 2u);
  EXPECT_EQ(width_after(20, {.count = 1, .cores = 2, .asked = 2, .others = 5}), 1u);
}

// One thread at a time is in the library, whatever its width: it should have all cores.
TEST(CallWidth, a_lock_of_the_programs_own_does_not_narrow_calls_for_long) {
  Callers behind_a_lock{.count = 8, .cores = 16, .asked = 16, .lock_of_their_own = true};
  CallWidth law;
  unsigned width = 16, wide = 0;
  constexpr unsigned kLooks = 5000;
  for (unsigned i = 0; i < kLooks; ++i) {
    width = law.next(behind_a_lock.look(width), width, 16);
    wide += width == 16;
  }
  EXPECT_GT(wide, kLooks * 9 / 10);
}

}  // namespace
}  // namespace roost

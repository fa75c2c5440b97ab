// What NEST's paper says of its nests (EuroSys '22, section 3), sentence by sentence, on the
// ledger.
#include "policy/nest.h"

#include <gtest/gtest.h>

#include "sched/local_instance_test.h"

namespace roost {
namespace {

using nest::Nest;

constexpr Nanoseconds kLong = 20'000'000;  // longer than p_remove

// Two sockets of four cores; threads 0 to 11, of one process, BLOCKED, last on core 1.
class NestTest : public testing::Test {
 protected:
  NestTest() : instance({2, 4}, 12, kNest) {
    for (ThreadIndex thread = 0; thread < 12; ++thread) instance.place(thread, 0, 1);
  }

  Nest nest_of(CoreIndex core) { return nest::nest_of(instance.cores[core].policy_shared.load()); }
  void put(Nest nest, std::initializer_list<CoreIndex> cores) {
    for (CoreIndex core : cores)
      instance.cores[core].policy_shared.store(nest::word_of(nest, instance.os.clock));
  }
  // Wakes a thread that last ran on `last`, and before that elsewhere; returns its core.
  CoreIndex wake(ThreadIndex thread, CoreIndex last) {
    instance.threads[thread].last_core = last;
    instance.wake(thread);
    return instance.core(thread);
  }
  void end(ThreadIndex thread) {
    instance.ledger.release(instance.ledger.leave_core(thread, State::detached), true);
  }
  // Makes the cores busy, with threads from `first` on.
  void occupy(ThreadIndex first, std::initializer_list<CoreIndex> cores) {
    for (CoreIndex core : cores) {
      ThreadIndex thread = first++;
      instance.threads[thread].state.store(running_on(core));
      instance.cores[core].owner.store(thread + 1);
      instance.idle[0].bits.fetch_and(~(1ull << core));
    }
  }

  LocalInstance instance;
};

// "If a core is selected when nest falls back to CFS, in the normal case it is placed in the
// reserve nest" (3.1); "If a core is selected from the reserve nest, the core is promoted to the
// primary".
TEST_F(NestTest, a_core_enters_the_reserve_and_is_promoted_when_it_is_chosen_again) {
  EXPECT_EQ(wake(0, 1), 1);
  EXPECT_EQ(nest_of(1), Nest::reserve);
  instance.block(0);
  EXPECT_EQ(wake(0, 1), 1);
  EXPECT_EQ(nest_of(1), Nest::primary);
}

// "NEST first searches for an idle core in the primary nest, then [...] in the reserve nest."
TEST_F(NestTest, the_primary_nest_comes_before_the_reserve) {
  put(Nest::reserve, {1});
  put(Nest::primary, {3});
  EXPECT_EQ(wake(0, 1), 3);
  EXPECT_EQ(wake(1, 1), 1);
  EXPECT_EQ(nest_of(1), Nest::primary);
}

// "The search in the primary nest starts at the thread's previous core".
TEST_F(NestTest, the_search_in_the_primary_nest_starts_at_the_last_core) {
  put(Nest::primary, {0, 1, 2, 3});
  EXPECT_EQ(wake(0, 2), 2);
  EXPECT_EQ(wake(1, 2), 3);
  EXPECT_EQ(wake(2, 2), 0);
}

// "The search in the reserve nest [...] starts from a fixed core".
TEST_F(NestTest, the_search_in_the_reserve_starts_at_a_fixed_core) {
  put(Nest::reserve, {0, 2});
  EXPECT_EQ(wake(0, 2), 0);
}

// "In both cases, the search first considers cores in the same socket as the thread's previous
// core".
TEST_F(NestTest, cores_of_the_same_socket_come_first) {
  put(Nest::primary, {0, 6});
  EXPECT_EQ(wake(0, 5), 6);
  EXPECT_EQ(wake(1, 5), 0);
  instance.block(0);
  instance.block(1);
  put(Nest::reserve, {0, 6});
  EXPECT_EQ(wake(2, 5), 6);
  EXPECT_EQ(wake(3, 5), 0);
}

// "if a core in the primary nest has not been used for some time (at most P_remove ticks), it is
// demoted to the reserve nest (nest compaction) as soon as a thread tries to use it."
TEST_F(NestTest, a_core_idle_for_long_is_demoted_when_it_is_touched) {
  put(Nest::primary, {2});
  instance.os.clock += kLong;
  put(Nest::primary, {3});
  EXPECT_EQ(wake(0, 2), 3);
  EXPECT_EQ(nest_of(2), Nest::reserve);
}

// "Nest compaction is not applied to the reserve nest, due to its bounded size."
TEST_F(NestTest, a_core_of_the_reserve_may_be_idle_for_long) {
  put(Nest::reserve, {3});
  instance.os.clock += kLong;
  EXPECT_EQ(wake(0, 2), 3);
  EXPECT_EQ(nest_of(3), Nest::primary);
}

// "unlike CFS, NEST does not take into account activity on hyperthreads" in its nests.
TEST_F(NestTest, a_core_of_a_nest_is_taken_whatever_its_sibling_does) {
  for (CoreIndex core = 0; core < 8; ++core)
    instance.info[core].to_sibling = static_cast<std::int16_t>(core % 2 ? -1 : 1);
  occupy(5, {2, 1});
  put(Nest::primary, {3});
  put(Nest::reserve, {0});
  EXPECT_EQ(wake(0, 2), 3);  // its sibling is core 2, which is busy; cores 4 to 7 are whole
  EXPECT_EQ(wake(1, 2), 0);
}

TEST_F(NestTest, the_time_counts_from_when_the_core_was_left) {
  put(Nest::primary, {2});
  occupy(5, {2});
  instance.os.clock += kLong;
  instance.block(5);
  EXPECT_EQ(wake(0, 2), 2);
  EXPECT_EQ(nest_of(2), Nest::primary);
}

// "A thread can even reclaim a core that is in the primary nest and is eligible for nest
// compaction, as long as no other thread has tried to use the core in the meantime." (3.3)
TEST_F(NestTest, an_attached_thread_reclaims_its_core_unless_another_has_touched_it) {
  put(Nest::primary, {2, 3});
  EXPECT_EQ(wake(0, 2), 2);
  instance.block(0);
  EXPECT_EQ(wake(0, 2), 2);  // twice on the same core: attached
  instance.block(0);
  instance.os.clock += kLong;
  EXPECT_EQ(wake(0, 2), 2);
  instance.block(0);
  instance.os.clock += kLong;
  put(Nest::primary, {3});
  EXPECT_EQ(wake(1, 2), 3);  // touches core 2 on the way
  EXPECT_EQ(nest_of(2), Nest::reserve);
  instance.block(1);
  EXPECT_EQ(wake(0, 2), 3);
}

// "NEST also records the core used on the execution before that": away once, it still returns if
// the next choice falls on its core again, and is attached only after two executions there.
TEST_F(NestTest, a_thread_is_attached_after_two_executions_on_a_core) {
  put(Nest::primary, {2, 3});
  instance.wake(0);
  CoreIndex first = instance.core(0);
  EXPECT_EQ(instance.threads[0].policy_words[nest::core_before], 1u + 1);
  instance.block(0);
  instance.wake(0);
  EXPECT_EQ(instance.core(0), first);
  EXPECT_EQ(instance.threads[0].policy_words[nest::core_before], first + 1u);
}

// "if a thread terminates on a core and the core becomes idle, then the core is [...] immediately
// demoted from the primary nest to the reserve nest."
TEST_F(NestTest, a_core_is_demoted_when_its_thread_ends) {
  put(Nest::primary, {2, 3});
  wake(0, 2);
  wake(1, 3);
  instance.block(0);
  EXPECT_EQ(nest_of(2), Nest::primary);
  end(1);
  EXPECT_EQ(nest_of(3), Nest::reserve);
}

TEST_F(NestTest, a_core_that_gets_the_next_thread_stays_when_one_ends) {
  put(Nest::primary, {2});
  occupy(2, {0, 1, 2, 3, 4, 5, 6, 7});
  instance.wake(0);  // waits for core 1
  instance.threads[0].last_core = 2;
  end(4);  // had core 2
  EXPECT_EQ(instance.core(0), 2);
  EXPECT_EQ(nest_of(2), Nest::primary);
}

// What the paper leaves open: a core that is demoted while the reserve is full leaves both nests.
TEST_F(NestTest, a_core_for_which_the_reserve_has_no_room_leaves_the_nests) {
  put(Nest::reserve, {0, 1, 4, 5, 6});
  put(Nest::primary, {2, 3});
  EXPECT_EQ(wake(0, 2), 2);
  end(0);
  EXPECT_EQ(nest_of(2), Nest::none);
}

// "placed in the reserve nest, if space is available"; R_max is 5.
TEST_F(NestTest, the_reserve_is_bounded) {
  for (ThreadIndex thread = 0; thread < 8; ++thread) instance.wake(thread);
  unsigned reserve = 0, none = 0;
  for (CoreIndex core = 0; core < 8; ++core) {
    reserve += nest_of(core) == Nest::reserve;
    none += nest_of(core) == Nest::none;
  }
  EXPECT_EQ(reserve, 5u);
  EXPECT_EQ(none, 3u);
}

// "If a thread finds that its previous core is not idle R_impatient times then [...] NEST does not
// explore the primary nest, but rather turns to the reserve nest and potentially CFS. In either
// case, the chosen core is directly added to the primary nest."
TEST_F(NestTest, an_impatient_thread_enlarges_the_primary_nest) {
  put(Nest::primary, {0, 1});
  occupy(5, {1});
  EXPECT_EQ(wake(0, 1), 0);
  instance.block(0);
  EXPECT_EQ(wake(0, 1), 2);  // the second failure: core 0 is idle, and passed by
  EXPECT_EQ(nest_of(2), Nest::primary);
  EXPECT_EQ(instance.threads[0].policy_words[nest::failures], 0u);  // patient again
}

TEST_F(NestTest, an_impatient_thread_turns_to_the_reserve_first) {
  put(Nest::primary, {0, 1});
  put(Nest::reserve, {6});
  occupy(5, {1});
  EXPECT_EQ(wake(0, 1), 0);
  instance.block(0);
  EXPECT_EQ(wake(0, 1), 6);
  EXPECT_EQ(nest_of(6), Nest::primary);
}

TEST_F(NestTest, finding_its_core_idle_makes_a_thread_patient) {
  put(Nest::primary, {1, 2, 3});
  occupy(5, {1});
  wake(0, 1);
  instance.block(0);
  EXPECT_EQ(wake(0, 3), 3);
  instance.block(0);
  EXPECT_EQ(wake(0, 1), 2);
}

// "NEST extends the CFS core selection on thread wakeup by examining all of the sockets" (3.4).
TEST_F(NestTest, an_idle_core_is_found_wherever_it_is) {
  occupy(1, {0, 1, 2, 3, 4, 5, 7});
  EXPECT_EQ(wake(0, 1), 6);
}

// CFS "searches for a core such that both the core and its hyperthread are idle" (2.1).
TEST_F(NestTest, a_whole_idle_core_is_better_than_half_of_one) {
  for (CoreIndex core = 0; core < 8; ++core)
    instance.info[core].to_sibling = static_cast<std::int16_t>(core % 2 ? -1 : 1);
  instance.threads[0].policy_words[nest::core_before] = 1;  // it has run before
  occupy(5, {0, 1, 2});
  EXPECT_EQ(wake(0, 1), 3);  // no whole core is left in the node
  instance.block(0);
  put(Nest::none, {3});
  instance.cores[0].owner.store(0);
  instance.cores[1].owner.store(0);
  instance.idle[0].bits.fetch_or(3);
  EXPECT_EQ(wake(0, 2), 0);  // 3 comes first in order, but 2 is busy
}

// "Starting from the highest domain, CFS first searches for the least loaded associated group"
// (2.1, fork).
TEST_F(NestTest, a_new_thread_goes_to_the_emptiest_node) {
  occupy(5, {0, 2, 3});
  EXPECT_EQ(wake(0, 1), 4);
  instance.threads[1].policy_words[nest::core_before] = 1;
  EXPECT_EQ(wake(1, 1), 1);  // one that has run before stays
}

// "ensuring that the NEST heuristics place at most one thread on a given core" (3.4).
TEST_F(NestTest, a_claimed_core_is_given_to_nobody_else) {
  put(Nest::primary, {1});
  instance.cores[1].owner.store(kClaimedCore | 1);  // somebody is about to grant it
  CoreIndex core = wake(0, 1);
  EXPECT_NE(core, 1);
  EXPECT_NE(core, kNoCore);
}

// Table 1, with ticks of 4 ms.
TEST(NestParameters, are_the_papers) {
  auto standard = [](const char* name) {
    return kNest.parameters[find_parameter(kNest, name)].standard;
  };
  EXPECT_EQ(standard("p_remove"), 2u * 4'000'000);
  EXPECT_EQ(standard("r_max"), 5u);
  EXPECT_EQ(standard("r_impatient"), 2u);
  EXPECT_EQ(standard("idle_spin"), 2u * 4'000'000);
}

}  // namespace
}  // namespace roost

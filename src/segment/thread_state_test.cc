// Every transition of a thread's state word, alone and with a partner that interferes.
#include "segment/thread_state.h"

#include <gtest/gtest.h>

#include <thread>

#include "os/sys.h"

namespace roost {
namespace {

using Record = ThreadRecord<RealWorld>;

std::uint32_t word(State state) { return static_cast<std::uint32_t>(state); }

struct StateWord : testing::Test {
  Record record{};
  void set(std::uint32_t value) { record.state.store(value); }
  std::uint32_t now() { return record.state.load(); }
};

TEST_F(StateWord, a_core_survives_being_packed) {
  for (CoreIndex core : {CoreIndex{0}, CoreIndex{1}, CoreIndex{1023}}) {
    EXPECT_EQ(core_of(running_on(core)), core);
    EXPECT_EQ(state_of(running_on(core)), State::running);
    EXPECT_EQ(core_of(running_on(core) | kPermit | kSleeping), core);
  }
}

TEST_F(StateWord, blocking_gives_the_core_to_the_caller_to_release) {
  set(running_on(5));
  BlockResult result = begin_block(record);
  EXPECT_EQ(result.block, Block::release);
  EXPECT_EQ(result.core, 5);
  EXPECT_EQ(now(), word(State::blocked));
}

TEST_F(StateWord, a_permit_is_consumed_instead_of_blocking) {
  set(running_on(5) | kPermit);
  EXPECT_EQ(begin_block(record).block, Block::permit);
  EXPECT_EQ(now(), running_on(5));
}

TEST_F(StateWord, a_thread_that_lost_its_core_blocks_without_one) {
  set(word(State::external));
  EXPECT_EQ(begin_block(record).block, Block::no_core);
  EXPECT_EQ(now(), word(State::blocked));
}

TEST_F(StateWord, unpark_hands_a_blocked_thread_to_its_caller) {
  set(word(State::blocked) | kSleeping);
  EXPECT_TRUE(unpark(record, 7));
  EXPECT_EQ(now(), ready_in_hands_of(7) | kSleeping);  // it sleeps on and will need a wake
}

TEST_F(StateWord, unpark_leaves_one_permit_to_anybody_else) {
  for (std::uint32_t before : {running_on(3), word(State::ready), word(State::external),
                               word(State::ready) | kSleeping, word(State::detached)}) {
    set(before);
    EXPECT_FALSE(unpark(record, 7));
    EXPECT_EQ(now(), before | kPermit);
    EXPECT_FALSE(unpark(record, 7));
    EXPECT_EQ(now(), before | kPermit);
  }
}

TEST_F(StateWord, a_timeout_turns_blocked_into_ready_once) {
  set(word(State::blocked) | kSleeping);
  EXPECT_TRUE(cancel_block(record, 7));
  EXPECT_EQ(now(), ready_in_hands_of(7));
  EXPECT_FALSE(cancel_block(record, 7));
}

TEST_F(StateWord, a_timeout_comes_too_late_after_an_unpark) {
  set(word(State::blocked));
  ASSERT_TRUE(unpark(record, 7));
  EXPECT_FALSE(cancel_block(record, 8));
  EXPECT_EQ(now(), ready_in_hands_of(7));
}

TEST_F(StateWord, changing_state_keeps_a_permit_and_drops_the_core) {
  set(running_on(9) | kPermit);
  change_state(record, State::external);
  EXPECT_EQ(now(), word(State::external) | kPermit);
}

TEST_F(StateWord, parties_and_queues_are_not_taken_for_each_other) {
  EXPECT_TRUE(is_process(party_of_process(511, 12345)));
  EXPECT_EQ(process_of_party(party_of_process(511, 12345)), 511);
  EXPECT_NE(party_of_process(3, 12345), party_of_process(3, 12346));
  EXPECT_TRUE(is_queue(queue_of_core(1023)));
  for (Party other : {party_of_thread(0xfffff), party_of_process(511, 0x7fffffff), kNobody})
    EXPECT_FALSE(is_queue(other));
}

TEST_F(StateWord, a_thread_passes_from_hand_to_hand_asleep_and_with_its_permit) {
  for (Party holder :
       {party_of_thread(0), party_of_thread(0xfffff), party_of_process(511, 0x7fffffff)}) {
    set(ready_in_hands_of(3) | kSleeping | kPermit);
    hold_ready(record, holder);
    EXPECT_EQ(holder_of(now()), holder);
    EXPECT_EQ(now(), ready_in_hands_of(holder) | kSleeping | kPermit);
  }
}

TEST_F(StateWord, a_grant_pins_and_wakes_sleepers_only) {
  int pins = 0;
  set(ready_in_hands_of(7) | kPermit);
  EXPECT_EQ(grant(record, 2, 7, [&] { ++pins; }), Grant::runs);
  EXPECT_EQ(now(), running_on(2) | kPermit);
  EXPECT_EQ(pins, 0);
  set(ready_in_hands_of(7) | kSleeping);
  EXPECT_EQ(grant(record, 2, 7, [&] { ++pins; }), Grant::sleeps);
  EXPECT_EQ(now(), running_on(2));
  EXPECT_EQ(pins, 1);
}

TEST_F(StateWord, who_waits_awake_is_pinned_before_it_is_granted_and_needs_no_wake) {
  set(word(State::blocked));
  EXPECT_EQ(announce_awake(record), word(State::blocked) | kAwake);
  ASSERT_TRUE(unpark(record, 7));
  hold_ready(record, 3);
  EXPECT_EQ(now(), ready_in_hands_of(3) | kAwake);
  std::uint32_t when_pinned = 0;
  EXPECT_EQ(grant(record, 6, 3, [&] { when_pinned = now(); }), Grant::runs);
  EXPECT_EQ(when_pinned, ready_in_hands_of(3) | kAwake);
  EXPECT_EQ(now(), running_on(6));
}

TEST_F(StateWord, who_falls_asleep_after_waiting_awake_needs_a_wake) {
  set(word(State::blocked));
  announce_awake(record);
  EXPECT_EQ(announce_sleep(record), word(State::blocked) | kAwake | kSleeping);
  ASSERT_TRUE(unpark(record, 7));
  EXPECT_EQ(grant(record, 6, 7, [] {}), Grant::sleeps);
  EXPECT_EQ(announce_awake(record), running_on(6));
}

TEST_F(StateWord, who_falls_asleep_between_look_and_grant_is_pinned_all_the_same) {
  int pins = 0;
  set(ready_in_hands_of(7) | kSleeping);
  // The pin is the only moment at which somebody else can come between.
  Grant granted = grant(record, 2, 7, [&] {
    ++pins;
    record.state.fetch_or(kPermit);
  });
  EXPECT_EQ(granted, Grant::sleeps);
  EXPECT_EQ(pins, 1);
  EXPECT_EQ(now(), running_on(2) | kPermit);
}

TEST_F(StateWord, who_is_away_is_granted_nothing_until_it_is_back) {
  set(word(State::blocked) | kSleeping);
  ASSERT_TRUE(go_away(record));
  EXPECT_FALSE(go_away(record));  // a handler within a handler
  ASSERT_TRUE(unpark(record, 7));
  EXPECT_EQ(grant(record, 2, 7, [] { ADD_FAILURE(); }), Grant::left_out);
  EXPECT_EQ(now(), word(State::external));
  come_back(record);
  EXPECT_EQ(now(), word(State::external));

  set(ready_in_hands_of(7) | kSleeping | kPermit);
  ASSERT_TRUE(go_away(record));
  EXPECT_FALSE(leave_out(record, 8));
  come_back(record);
  EXPECT_FALSE(leave_out(record, 7));
  EXPECT_EQ(now(), ready_in_hands_of(7) | kSleeping | kPermit);
  EXPECT_EQ(grant(record, 2, 7, [] {}), Grant::sleeps);
}

TEST_F(StateWord, who_has_a_core_or_waits_for_none_is_not_away) {
  for (std::uint32_t other : {running_on(3), word(State::external), word(State::detached)}) {
    set(other);
    EXPECT_FALSE(go_away(record));
    EXPECT_EQ(now(), other);
  }
}

TEST_F(StateWord, only_who_holds_a_thread_passes_it_on_or_grants_it) {
  set(ready_in_hands_of(7) | kSleeping | kPermit);
  EXPECT_FALSE(pass_on(record, 8, 9));
  EXPECT_TRUE(pass_on(record, 7, queue_of_core(5)));
  EXPECT_EQ(queue_of(now()), 5);
  EXPECT_EQ(grant(record, 5, 7, [] {}), Grant::lost);
  EXPECT_FALSE(pass_on(record, 7, 9));
  EXPECT_TRUE(pass_on(record, queue_of_core(5), 9));
  EXPECT_EQ(queue_of(now()), kNoCore);
  EXPECT_EQ(now(), ready_in_hands_of(9) | kSleeping | kPermit);
  // Who was overtaken while he pinned it has not granted it.
  EXPECT_EQ(grant(record, 5, 9, [&] { pass_on(record, 9, 7); }), Grant::lost);
  EXPECT_EQ(now(), ready_in_hands_of(7) | kSleeping | kPermit);
}

TEST_F(StateWord, sleep_is_announced_unless_there_is_a_core_already) {
  set(word(State::blocked));
  EXPECT_EQ(announce_sleep(record), word(State::blocked) | kSleeping);
  EXPECT_EQ(now(), word(State::blocked) | kSleeping);
  EXPECT_EQ(announce_sleep(record), word(State::blocked) | kSleeping);
  set(running_on(1) | kPermit);
  EXPECT_EQ(announce_sleep(record), running_on(1) | kPermit);
  EXPECT_EQ(now(), running_on(1) | kPermit);
}

// Two threads that block and wake each other, as often as it takes to meet every interleaving.
TEST_F(StateWord, no_wake_up_is_lost_between_two_threads) {
  constexpr int kRounds = 4'000;
  Record records[2] = {};
  for (Record& r : records) r.state.store(running_on(0));
  auto park = [](Record& r) {
    if (begin_block(r).block == Block::permit) return;
    for (;;) {
      std::uint32_t seen = announce_sleep(r);
      if (state_of(seen) == State::running) return;
      os::futex_wait(&r.state, seen, os::FutexScope::process);
    }
  };
  auto wake = [](Record& r) {
    if (!unpark(r, 7)) return;
    if (grant(r, 0, 7, [] {}) == Grant::sleeps)
      os::futex_wake(&r.state, 1, os::FutexScope::process);
  };
  int message = 0;  // plain: each side sees what the other wrote, or the sanitizer tells
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      park(records[1]);
      ++message;
      wake(records[0]);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ++message;
    wake(records[1]);
    park(records[0]);
  }
  other.join();
  EXPECT_EQ(message, 2 * kRounds);
}

}  // namespace
}  // namespace roost

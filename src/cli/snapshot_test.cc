// A snapshot counts what the records say, and a damaged record does no harm.
#include "cli/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/policy.h"
#include "segment/instance_test.h"
#include "segment/thread_state.h"
#include "topo/cpulist.h"

namespace roost::cli {
namespace {

TEST(Snapshot, shows_the_instance_and_its_processes) {
  TestInstance instance;
  instance.config().policy_layout = find_policy("coop")->layout;
  instance.config().cores[0].os_cpu = 3;
  instance.config().cores[1].os_cpu = 5;
  Member member(instance);
  InstanceSnapshot snapshot = take_snapshot(member.segment);
  EXPECT_EQ(snapshot.name, instance.config().instance);
  EXPECT_EQ(snapshot.policy, "coop");
  EXPECT_STREQ(format_cpulist(snapshot.cpus).c_str(), "3,5");
  ASSERT_FALSE(snapshot.parameters.empty());
  EXPECT_EQ(snapshot.parameters[0], (std::pair<std::string, std::string>("quantum", "20ms")));
  ASSERT_EQ(snapshot.processes.size(), 1u);
  EXPECT_EQ(snapshot.processes[0].pid, getpid());
  EXPECT_EQ(snapshot.processes[0].activity.all_threads(), 0u);
}

TEST(Snapshot, counts_threads_by_state_and_what_they_did) {
  TestInstance instance;
  Member member(instance);
  Segment& segment = member.segment;
  const State states[] = {State::running, State::ready, State::blocked, State::blocked};
  for (State state : states) {
    ThreadIndex thread = segment_take_thread(segment, member.index);
    ASSERT_NE(thread, kNoThread);
    segment.threads[thread].state = static_cast<std::uint32_t>(state) | kSleeping | kPermit;
    segment.threads[thread].counters.grants = 10;
    segment.threads[thread].counters.shares = 1;
  }
  segment.processes[member.index].retired[0] = 100;
  segment.header->retired[0] = 1000;

  InstanceSnapshot snapshot = take_snapshot(segment);
  const Activity& own = snapshot.processes.at(0).activity;
  EXPECT_EQ(own.threads, (decltype(own.threads){1, 1, 2, 0, 0}));
  EXPECT_EQ(own.counters, (decltype(own.counters){140, 0, 0, 0, 0, 4}));
  EXPECT_EQ(snapshot.total.counters[0], 1140u);
}

TEST(Snapshot, survives_records_with_nonsense) {
  TestInstance instance;
  Member member(instance);
  Segment& segment = member.segment;
  ThreadIndex thread = segment_take_thread(segment, member.index);
  segment.threads[thread].state = 7;
  EXPECT_EQ(take_snapshot(segment).total.all_threads(), 0u);
  segment.threads[thread].process = 0xfff0;
  EXPECT_EQ(take_snapshot(segment).total.all_threads(), 0u);
  std::fill(std::begin(segment.header->unmanaged_name), std::end(segment.header->unmanaged_name),
            'x');
  EXPECT_EQ(take_snapshot(segment).last_unmanaged, std::string(64, 'x'));
}

}  // namespace
}  // namespace roost::cli

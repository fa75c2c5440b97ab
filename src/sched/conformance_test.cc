// What every policy must keep, whatever programs do: run on all built-in policies with random
// programs. A seed that fails is printed and shrunk.
//
// One world a test: a small machine, threads of a few processes, a clock that only the test moves.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "sched/all_policies_test.h"
#include "sched/local_instance_test.h"

namespace roost {
namespace {

constexpr ThreadIndex kThreads = 14;
constexpr ProcessIndex kProcesses = 3;
constexpr TestMachine kMachines[] = {{1, 1}, {1, 2}, {2, 2}, {4, 2}};

// Something that happens to a thread, after `pause` ns.
struct Step {
  enum Kind { wake, block, yield, kernel, rescue, kinds } kind;
  ThreadIndex thread;
  Nanoseconds pause;
};

void apply(LocalInstance& instance, const Step& step) {
  instance.os.clock += step.pause;
  ThreadIndex thread = step.thread;
  bool running = instance.core(thread) != kNoCore;
  switch (step.kind) {
    case Step::wake:
      instance.wake(thread);
      break;
    case Step::block:
      if (running) instance.block(thread);
      break;
    case Step::yield:
      if (running) instance.yield(thread, 200'000);
      break;
    case Step::kernel:
      if (running) {
        instance.to_kernel(thread);
      } else if (instance.state(thread) == State::external) {
        instance.from_kernel(thread);
      }
      break;
    default:
      if (running) instance.ledger.rescue(instance.core(thread), thread);
  }
}

std::string show(const std::vector<Step>& steps, std::size_t end) {
  static const char* const names[] = {"wake", "block", "yield", "kernel", "rescue"};
  std::string text;
  for (std::size_t i = 0; i <= end && i < steps.size(); ++i) {
    text += std::string(names[steps[i].kind]) + " " + std::to_string(steps[i].thread) + " after " +
            std::to_string(steps[i].pause) + "\n";
  }
  return text;
}

rc::Gen<std::vector<Step>> programs() {
  auto step = rc::gen::build<Step>(
      rc::gen::set(&Step::kind, rc::gen::map(rc::gen::inRange<int>(0, Step::kinds),
                                             [](int kind) { return Step::Kind(kind); })),
      rc::gen::set(&Step::thread, rc::gen::inRange<ThreadIndex>(0, kThreads)),
      rc::gen::set(&Step::pause, rc::gen::element<Nanoseconds>(0, 1000, 300'000, 15'000'000)));
  return rc::gen::container<std::vector<Step>>(step);
}

TestMachine any_machine() { return kMachines[*rc::gen::inRange(0, 4)]; }

class Conformance : public testing::TestWithParam<const Policy*> {
 protected:
  static LocalInstance make(TestMachine machine) {
    return LocalInstance(machine, kThreads, *GetParam());
  }
  static void populate(LocalInstance& instance) {
    for (ThreadIndex i = 0; i < kThreads; ++i) {
      instance.place(i, static_cast<ProcessIndex>(i % kProcesses),
                     static_cast<CoreIndex>(i % instance.machine.n_cores()));
    }
  }
  static Nanoseconds parameter(const char* name) {
    int index = find_parameter(*GetParam(), name);
    return index < 0 ? 0 : GetParam()->parameters[index].standard;
  }
  // Ends the test if a random program breaks `property`.
  template <class Property>
  void check(const char* what, Property&& property) {
    if (!rc::check(what, std::forward<Property>(property))) FAIL() << what;
  }
};

TEST_P(Conformance, no_core_is_free_while_a_thread_waits_and_no_thread_is_lost) {
  check("invariants of the ledger", [] {
    LocalInstance instance = make(any_machine());
    populate(instance);
    std::vector<Step> steps = *rc::gen::scale(4.0, programs());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      apply(instance, steps[i]);
      std::string broken = instance.broken();
      if (!broken.empty()) RC_FAIL(broken + "\n" + show(steps, i));
    }
  });
}

// Threads that all pass a scheduling point every `slice` ns: each runs again within a bound.
TEST_P(Conformance, a_waiting_thread_gets_a_core_in_bounded_time) {
  Nanoseconds quantum = parameter("quantum");
  check("bounded wait", [quantum] {
    LocalInstance instance = make(any_machine());
    populate(instance);
    Nanoseconds slice = *rc::gen::element<Nanoseconds>(50'000, 1'000'000, 30'000'000);
    ThreadIndex n = *rc::gen::inRange<ThreadIndex>(1, kThreads + 1);
    for (ThreadIndex i = 0; i < n; ++i) instance.wake(i);
    // Everybody ahead runs a slice, and every process its quantum and the slice that overshoots it.
    Nanoseconds bound = n * slice + (kProcesses + 1) * (quantum + slice);
    std::vector<Nanoseconds> ran(n, instance.os.clock);
    Nanoseconds end = instance.os.clock + 4 * bound;
    while (instance.os.clock < end) {
      instance.os.clock += slice;
      for (ThreadIndex i = 0; i < n; ++i) {
        if (instance.core(i) != kNoCore) ran[i] = instance.os.clock;
      }
      for (CoreIndex core = 0; core < instance.machine.n_cores(); ++core) {
        ThreadIndex owner = instance.owner(core);
        if (owner != kNoThread) instance.yield(owner, 200'000);
      }
      for (ThreadIndex i = 0; i < n; ++i) {
        if (instance.os.clock - ran[i] > bound) {
          RC_FAIL("thread " + std::to_string(i) + " of " + std::to_string(n) + " has not run for " +
                  std::to_string(instance.os.clock - ran[i]) + " ns");
        }
      }
    }
    RC_ASSERT(instance.broken().empty());
  });
}

// A process with work on a core keeps it for its quantum and not for longer if another waits there.
TEST_P(Conformance, the_quantum_is_respected_where_a_core_changes_hands) {
  Nanoseconds quantum = parameter("quantum");
  if (quantum == 0) GTEST_SKIP() << "this policy has none";
  check("quantum", [quantum] {
    LocalInstance instance = make({1, 1});
    instance.set("brief", 0);
    populate(instance);
    for (ThreadIndex i = 0; i < kThreads; ++i) instance.wake(i);
    ProcessIndex serving = instance.threads[instance.owner(0)].process;
    Nanoseconds since = instance.os.clock;
    auto pauses = *rc::gen::container<std::vector<Nanoseconds>>(
        60, rc::gen::element<Nanoseconds>(1000, 3'000'000, 7'000'000, 25'000'000));
    auto blocks = *rc::gen::container<std::vector<bool>>(60, rc::gen::arbitrary<bool>());
    for (std::size_t i = 0; i < pauses.size() && instance.owner(0) != kNoThread; ++i) {
      instance.os.clock += pauses[i];
      std::size_t waiting[kProcesses] = {};
      for (ThreadIndex thread : instance.queue(0)) ++waiting[instance.threads[thread].process];
      std::size_t others = instance.queue(0).size() - waiting[serving];
      ThreadIndex owner = instance.owner(0);
      blocks[i] ? instance.block(owner) : static_cast<void>(instance.yield(owner));
      if (instance.owner(0) == owner || instance.owner(0) == kNoThread) continue;
      ProcessIndex next = instance.threads[instance.owner(0)].process;
      bool over = instance.os.clock - since >= quantum;
      if (!over && waiting[serving]) RC_ASSERT(next == serving);
      if (over && others) RC_ASSERT(next != serving);
      if (next != serving || over) since = instance.os.clock;
      serving = next;
    }
  });
}

TEST_P(Conformance, a_thread_that_was_woken_alone_returns_to_its_core) {
  check("last core", [] {
    LocalInstance instance = make(any_machine());
    populate(instance);
    auto thread = *rc::gen::inRange<ThreadIndex>(0, kThreads);
    instance.wake(thread);
    CoreIndex core = instance.core(thread);
    instance.block(thread);
    instance.os.clock += *rc::gen::element<Nanoseconds>(0, 1000, 100'000'000);
    instance.wake(thread);
    RC_ASSERT(instance.core(thread) == core);
  });
}

TEST_P(Conformance, parameters_say_what_they_are_and_their_defaults_are_in_range) {
  const Policy& policy = *GetParam();
  EXPECT_TRUE(find_policy(policy.name) == &policy || plug_in_of(policy));
  EXPECT_LE(policy.n_parameters, 16u);
  EXPECT_NE(policy.layout, 0u);
  for (unsigned i = 0; i < policy.n_parameters; ++i) {
    const PolicyParameter& p = policy.parameters[i];
    EXPECT_EQ(find_parameter(policy, p.name), static_cast<int>(i));
    EXPECT_LE(p.minimum, p.standard) << p.name;
    EXPECT_LE(p.standard, p.maximum) << p.name;
    EXPECT_NE(std::string(p.summary), "") << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Conformance, testing::ValuesIn(all_policies()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace roost

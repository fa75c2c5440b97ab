// Processes that share an instance: they come, wait for each other's cores, are killed, and leave.
// Everything happens in children, since attaching changes a process for good.
#include "sched/keeper.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "os/child_test.h"
#include "sched/joined_test.h"
#include "sched/runtime_os.h"
#include "segment/instance_test.h"

namespace roost {
namespace {

// The kernel's number of a CPU this process may use.
std::uint16_t some_cpu() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  std::uint16_t cpu = 0;
  while (!CPU_ISSET(cpu, &mask)) ++cpu;
  return cpu;
}

// An instance of one core, so that a second thread has to wait, or (`beside` not 0) runs beside.
struct OneCore : testing::Test {
  TestInstance instance{1};
  explicit OneCore(Nanoseconds beside = 0) {
    SegmentConfig& config = instance.config();
    config.cores[0].os_cpu = some_cpu();
    const Policy& policy = *find_policy("coop");
    config.policy = policy.name;
    config.policy_layout = policy.layout;
    for (unsigned i = 0; i < policy.n_parameters; ++i) {
      config.parameters[i] = policy.parameters[i].standard;
    }
    config.parameters[find_parameter(policy, "beside")] = beside;
  }
  // `body` runs in the first process of the instance. It returns what it complains of.
  template <class Body>
  void in_member(Body&& body) {
    EXPECT_EQ(in_child([&]() -> std::string {
                if (runtime_start(instance.config(), kLibc) != 0) return "cannot join";
                return body();
              }),
              "");
  }
};

// The child of a member becomes a member of its own.
void join() {
  runtime_after_fork();
  if (!runtime_active() || !has_core()) _exit(1);
}

[[noreturn]] void compute_for_ever() {
  for (;;) cpu_pause();
}

// A process that has taken the only core, which the caller leaves to it, and goes on with `live`.
Child neighbour(void (*live)()) {
  enter_external();
  return Child([live](auto ready) {
    join();
    ready();
    live();
  });
}

ProcessIndex slot_of(pid_t pid) {
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot<RealWorld>& slot = segment().processes[i];
    bool used = process_state(slot.state.load()) != ProcessState::free;
    if (used && slot.pid == pid) return i;
  }
  return kNoProcess;
}

// A dead process's, by the looks of the keeper of this one.
bool slot_is_freed(pid_t dead) {
  ProcessIndex own = slot_of(getpid());
  for (int look = 0; look < 10 && slot_of(dead) != kNoProcess; ++look) {
    keeper_look(segment(), own);
  }
  return slot_of(dead) == kNoProcess;
}

ThreadIndex core_owner() { return thread_of_owner(segment().cores[0].owner.load()); }

#define EXPECT_OR_COMPLAIN(condition)    \
  do {                                   \
    if (!(condition)) return #condition; \
  } while (false)

TEST_F(OneCore, the_first_thread_has_the_core_and_returns_it) {
  in_member([&]() -> std::string {
    EXPECT_OR_COMPLAIN(runtime_active() && has_core());
    EXPECT_OR_COMPLAIN(core_owner() == self.index);
    enter_external();
    EXPECT_OR_COMPLAIN(core_owner() == kNoThread && !has_core());
    leave_external();
    EXPECT_OR_COMPLAIN(core_owner() == self.index && has_core());
    EXPECT_OR_COMPLAIN(!yield_core());
    runtime_stop();
    EXPECT_OR_COMPLAIN(!runtime_active() && !self.record);
    EXPECT_OR_COMPLAIN(!instance.exists());
    return "";
  });
}

TEST_F(OneCore, a_thread_whose_core_stays_idle_while_it_waits_is_pinned_no_more) {
  in_member([&]() -> std::string {
    const auto& record = *self.record;
    for (int wait = 0; wait < 4; ++wait) {
      EXPECT_OR_COMPLAIN(record.pinned_to == 0);
      enter_external();
      leave_external();
    }
    EXPECT_OR_COMPLAIN(has_core() && record.pinned_to == kNoCore);
    enter_external();
    std::atomic<bool> taken = false;
    std::thread other([&] {
      if (!thread_attach()) _exit(1);
      taken = true;
      // Until the waiter sleeps: before that it may still find the core free by itself.
      while (!(record.state & kSleeping)) sched_yield();
      thread_detach();
    });
    while (!taken) sched_yield();
    leave_external();  // waits for the other, and is pinned by the grant
    other.join();
    EXPECT_OR_COMPLAIN(has_core() && record.pinned_to == 0);
    runtime_stop();
    return "";
  });
}

struct OneCoreAndBeside : OneCore {
  OneCoreAndBeside() : OneCore(10'000'000) {}

  // Makes the calling thread's runs brief ones, leaves the core to another, which keeps it until
  // `done`, and returns from the kernel.
  void return_beside(std::atomic<bool>& done, std::thread& other) {
    for (int wait = 0; wait < 4; ++wait) {
      enter_external();
      leave_external();
    }
    enter_external();
    std::atomic<bool> taken = false;
    other = std::thread([&] {
      if (!thread_attach()) _exit(1);
      taken = true;
      while (!done) sched_yield();
      thread_detach();
    });
    while (!taken) sched_yield();
    leave_external();
  }

  // `body` runs in a thread beside the core; what it is given ends the thread that has it.
  template <class Body>
  void in_thread_beside(Body&& body) {
    in_member([&]() -> std::string {
      std::atomic<bool> done = false;
      std::thread other;
      return_beside(done, other);
      EXPECT_OR_COMPLAIN(self.beside);
      std::string complaint = body([&] {
        done = true;
        other.join();
      });
      runtime_stop();
      return complaint;
    });
  }
};

TEST_F(OneCoreAndBeside, a_thread_with_brief_runs_goes_on_without_a_core) {
  in_thread_beside([&](auto end_other) -> std::string {
    EXPECT_OR_COMPLAIN(!has_core() && self.beside && can_park());
    EXPECT_OR_COMPLAIN(is_at_large(self.record->state) && self.record->counters.beside == 1);
    EXPECT_OR_COMPLAIN(core_owner() != self.index && core_owner() != kNoThread);
    enter_external();
    EXPECT_OR_COMPLAIN(!self.beside && !is_at_large(self.record->state));
    leave_external();
    EXPECT_OR_COMPLAIN(!has_core() && self.record->counters.beside == 2);
    end_other();
    EXPECT_OR_COMPLAIN(!has_core());  // until it passes a scheduling point
    yield_core();
    EXPECT_OR_COMPLAIN(has_core() && !self.beside);
    return "";
  });
}

TEST_F(OneCoreAndBeside, it_can_block_and_is_woken_with_a_core) {
  in_thread_beside([&](auto end_other) -> std::string {
    std::thread waker([&, index = self.index] {
      unpark(index);
      end_other();
    });
    EXPECT_OR_COMPLAIN(park(nullptr, false) == Park::woken);
    EXPECT_OR_COMPLAIN(!self.beside);
    waker.join();
    yield_core();
    EXPECT_OR_COMPLAIN(has_core());
    return "";
  });
}

// A handler interrupts the wait, waits itself, and returns: the outer wait ends after that.
TEST_F(OneCoreAndBeside, it_may_return_twice) {
  in_thread_beside([&](auto end_other) -> std::string {
    leave_external();
    EXPECT_OR_COMPLAIN(self.beside && is_at_large(self.record->state));
    end_other();
    yield_core();
    EXPECT_OR_COMPLAIN(has_core() && core_owner() == self.index);
    leave_external();
    EXPECT_OR_COMPLAIN(has_core() && core_owner() == self.index && !self.beside);
    enter_external();
    EXPECT_OR_COMPLAIN(core_owner() == kNoThread);
    leave_external();
    return "";
  });
}

TEST_F(OneCoreAndBeside, where_all_places_are_taken_it_waits_for_a_core) {
  in_thread_beside([&](auto end_other) -> std::string {
    for (auto& word : segment().cores[0].beside) word.store(segment().cores[0].beside[0]);
    std::atomic<bool> waits = false;
    std::thread third([&] {
      // It waits for the core, and gets it at last.
      if (!thread_attach()) _exit(1);
      for (int wait = 0; wait < 4; ++wait) {
        enter_external();
        if (wait == 3) waits = true;
        leave_external();
        if (self.beside) _exit(2);
      }
      thread_detach();
    });
    while (!segment().cores[0].ready) sched_yield();
    end_other();
    third.join();
    EXPECT_OR_COMPLAIN(waits && self.beside && !has_core());
    return "";
  });
}

TEST_F(OneCoreAndBeside, a_child_of_a_fork_has_a_core) {
  in_thread_beside([&](auto end_other) -> std::string {
    Child child([&](auto ready) {
      runtime_after_fork();
      if (!runtime_active() || !has_core() || self.beside) _exit(1);
      ready();
      runtime_stop();
      _exit(0);
    });
    end_other();
    return "";
  });
}

TEST_F(OneCore, who_jumps_out_of_a_wait_has_a_core_again) {
  in_member([&]() -> std::string {
    abandon_wait();
    EXPECT_OR_COMPLAIN(has_core() && can_park());
    enter_external();
    EXPECT_OR_COMPLAIN(!can_park());
    abandon_wait();
    EXPECT_OR_COMPLAIN(has_core() && can_park());
    leave_external();
    EXPECT_OR_COMPLAIN(has_core() && can_park());
    runtime_stop();
    return "";
  });
}

TEST_F(OneCore, a_park_ends_by_unpark_by_permit_and_by_deadline) {
  in_member([&]() -> std::string {
    unpark(self.index);
    EXPECT_OR_COMPLAIN(park(nullptr, false) == Park::woken);
    Deadline past{{0, 1}, false};
    EXPECT_OR_COMPLAIN(park(&past, false) == Park::timed_out);
    EXPECT_OR_COMPLAIN(has_core());
    std::thread waker([thread = self.index] { unpark(thread); });
    EXPECT_OR_COMPLAIN(park(nullptr, false) == Park::woken);
    EXPECT_OR_COMPLAIN(has_core());
    waker.join();
    runtime_stop();
    return "";
  });
}

TEST_F(OneCore, a_process_that_lives_keeps_what_it_has) {
  in_member([&]() -> std::string {
    ProcessIndex own = slot_of(getpid());
    Child other = neighbour(sleep_for_ever);
    ThreadIndex owner = core_owner();
    for (int look = 0; look < 5; ++look) keeper_look(segment(), own);
    EXPECT_OR_COMPLAIN(owner != kNoThread && core_owner() == owner);
    EXPECT_OR_COMPLAIN(slot_of(other.pid()) != kNoProcess);
    return "";
  });
}

TEST_F(OneCore, a_process_that_is_killed_gives_back_its_core_its_records_and_its_slot) {
  in_member([&]() -> std::string {
    ProcessIndex own = slot_of(getpid());
    Child other = neighbour(compute_for_ever);
    ProcessIndex slot = slot_of(other.pid());
    EXPECT_OR_COMPLAIN(slot != kNoProcess);
    EXPECT_OR_COMPLAIN(core_owner() != kNoThread);
    other.kill_now();
    keeper_look(segment(), own);
    EXPECT_OR_COMPLAIN(core_owner() == kNoThread);
    EXPECT_OR_COMPLAIN(slot_is_freed(other.pid()));
    EXPECT_OR_COMPLAIN(segment().header->reclaimed.load() == 1);
    std::uint64_t used = segment().thread_bits[0].load();
    EXPECT_OR_COMPLAIN(used == 1ull << self.index);
    leave_external();
    EXPECT_OR_COMPLAIN(has_core());
    runtime_stop();
    EXPECT_OR_COMPLAIN(!instance.exists());
    return "";
  });
}

TEST_F(OneCore, a_record_of_the_dead_that_another_is_taking_is_left_to_it) {
  in_member([&]() -> std::string {
    Child other = neighbour(sleep_for_ever);
    ProcessIndex slot = slot_of(other.pid());
    other.kill_now();
    // segment_take_thread after its first step.
    constexpr ThreadIndex kTaken = 7;
    segment().thread_bits[0].fetch_or(1ull << kTaken);
    segment().threads[kTaken].process = slot;
    EXPECT_OR_COMPLAIN(slot_is_freed(other.pid()));
    EXPECT_OR_COMPLAIN(segment().thread_bits[0].load() >> kTaken & 1);
    segment().thread_bits[0].fetch_and(~(1ull << kTaken));
    leave_external();
    runtime_stop();
    return "";
  });
}

TEST_F(OneCore, a_waiting_process_gets_the_core_of_one_that_is_killed) {
  in_member([&]() -> std::string {
    Child other = neighbour(compute_for_ever);
    std::thread killer([&other] { other.kill_now(); });
    leave_external();  // starts the keeper and waits
    EXPECT_OR_COMPLAIN(has_core());
    killer.join();
    enter_external();
    runtime_stop();
    return "";
  });
}

TEST_F(OneCore, a_waiting_process_gets_the_core_of_one_that_sleeps_unseen) {
  in_member([&]() -> std::string {
    Child other = neighbour(sleep_for_ever);
    ThreadIndex sleeper = core_owner();
    leave_external();
    EXPECT_OR_COMPLAIN(has_core());
    EXPECT_OR_COMPLAIN(segment().threads[sleeper].counters.rescues == 1);
    runtime_stop();
    return "";
  });
}

TEST_F(OneCore, a_waiting_process_gets_its_turn_beside_one_that_never_stops_computing) {
  in_member([&]() -> std::string {
    Child other = neighbour(compute_for_ever);
    ThreadIndex hog = core_owner();
    leave_external();
    EXPECT_OR_COMPLAIN(has_core());
    EXPECT_OR_COMPLAIN(segment().threads[hog].counters.shares == 1);
    runtime_stop();
    return "";
  });
}

TEST_F(OneCore, a_forked_child_is_a_process_of_its_own) {
  in_member([&]() -> std::string {
    ProcessIndex own = slot_of(getpid());
    enter_external();
    std::string complaint = in_child([&]() -> std::string {
      runtime_after_fork();
      EXPECT_OR_COMPLAIN(runtime_active() && has_core());
      EXPECT_OR_COMPLAIN(slot_of(getpid()) != own);
      runtime_stop();
      return "";
    });
    leave_external();
    EXPECT_OR_COMPLAIN(complaint.empty());
    EXPECT_OR_COMPLAIN(has_core());
    runtime_stop();
    EXPECT_OR_COMPLAIN(!instance.exists());
    return "";
  });
}

TEST_F(OneCore, an_instance_out_of_records_refuses_and_stays_whole) {
  instance.config().n_threads = 1;
  in_member([&]() -> std::string {
    bool joined = true;
    std::thread([&] { joined = thread_attach(); }).join();
    EXPECT_OR_COMPLAIN(!joined);
    std::string complaint = in_child([&]() -> std::string {
      runtime_after_fork();
      EXPECT_OR_COMPLAIN(!runtime_active());
      return "";
    });
    EXPECT_OR_COMPLAIN(complaint.empty());
    EXPECT_OR_COMPLAIN(has_core());
    runtime_stop();
    EXPECT_OR_COMPLAIN(!instance.exists());
    return "";
  });
}

}  // namespace
}  // namespace roost

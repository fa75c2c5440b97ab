// Costs of threads and system calls, measured by threads pinned to a core each.
#include <fcntl.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/world.h"
#include "cli/calibration.h"
#include "cli/pinned.h"
#include "cli/probes.h"
#include "os/sys.h"

namespace roost::cli {
namespace {

// Two threads that run in turn.
class Turns {
 public:
  Turns() {
    for (sem_t& side : sides_) sem_init(&side, 0, 0);
  }
  void wait(int side) {
    while (sem_wait(&sides_[side]) != 0) {
    }
  }
  void wake(int side) { sem_post(&sides_[side]); }

 private:
  sem_t sides_[2];
};

// From one thread to the other and back, halved.
double pingpong(const std::function<void(int side)>& place, Nanoseconds duration) {
  Turns turns;
  std::atomic<bool> stop{false};
  double each = 0;
  std::thread other([&] {
    place(1);
    for (;;) {
      turns.wait(1);
      if (stop) return;
      turns.wake(0);
    }
  });
  std::thread timer([&] {
    place(0);
    each = time_each(duration, [&] {
      turns.wake(1);
      turns.wait(0);
    });
    stop = true;
    turns.wake(1);
  });
  timer.join();
  other.join();
  return each / 2;
}

std::optional<double> handoff(const Bench& bench) {
  return pingpong([&](int) { pin(bench.cpu(0)); }, bench.duration);
}

struct WakeUp {
  double call;     // until the waker's call returns
  double latency;  // from its begin until the woken thread runs
};

// A thread on `from` wakes one on `to` after each `pause`, which is long enough for that core to
// halt. Medians; nothing if the woken thread always ran before the call returned.
std::optional<WakeUp> wake_up(unsigned from, unsigned to, Nanoseconds pause, Nanoseconds duration) {
  Turns turns;
  std::atomic<bool> stop{false};
  std::atomic<Nanoseconds> ran_at{0};
  std::vector<double> calls, latencies;
  std::thread sleeper([&] {
    pin(to);
    for (;;) {
      turns.wait(1);
      ran_at = os::now();
      if (stop) return;
      turns.wake(0);
    }
  });
  std::thread waker([&] {
    pin(from);
    for (Nanoseconds begin = os::now(); os::now() - begin < duration;) {
      spin_for(pause);
      if (from == to) os::yield();  // so that the other gets to its wait
      Nanoseconds called = os::now();
      turns.wake(1);
      Nanoseconds returned = os::now();
      turns.wait(0);
      latencies.push_back(static_cast<double>(ran_at - called));
      // On one core: preempted by the thread that it has woken.
      if (from != to || ran_at > returned) calls.push_back(static_cast<double>(returned - called));
    }
    stop = true;
    turns.wake(1);
  });
  waker.join();
  sleeper.join();
  if (calls.empty()) return {};
  return WakeUp{median(calls), median(latencies)};
}

constexpr Nanoseconds kUntilHalted = 500'000;  // longer than a guest polls before it halts (200 us)

std::optional<double> wake_busy(const Bench& bench) {
  auto found = wake_up(bench.cpu(0), bench.cpu(0), 0, bench.duration);
  return found ? std::optional(found->call) : std::nullopt;
}

std::optional<double> wake_call(const Bench& bench) {
  if (bench.machine.n_cores < 2) return {};
  auto found = wake_up(bench.cpu(0), bench.cpu(1), kUntilHalted, bench.duration);
  return found ? std::optional(found->call) : std::nullopt;
}

std::optional<double> wake_halted(const Bench& bench) {
  if (bench.machine.n_cores < 2) return {};
  auto found = wake_up(bench.cpu(0), bench.cpu(1), kUntilHalted, bench.duration);
  return found ? std::optional(found->latency) : std::nullopt;
}

std::optional<double> yield_alone(const Bench& bench) {
  return on_cpu(bench.cpu(0), [&] { return time_each(bench.duration, [] { os::yield(); }); });
}

// Two threads that do nothing but yield, on one core: the time of a yield after which the other
// runs. Those that come back at once are taken for `alone`.
std::optional<double> yield_switch(const Bench& bench) {
  std::atomic<bool> stop{false};
  std::atomic<int> last{0};
  std::uint64_t yields[2] = {}, switches[2] = {};
  auto loop = [&](int side) {
    pin(bench.cpu(0));
    while (!stop) {
      if (last.exchange(side, std::memory_order_relaxed) != side) ++switches[side];
      ++yields[side];
      os::yield();
    }
  };
  Nanoseconds begin = os::now();
  std::thread first(loop, 0), second(loop, 1);
  std::this_thread::sleep_for(std::chrono::nanoseconds(bench.duration));
  stop = true;
  Nanoseconds end = os::now();
  first.join();
  second.join();
  double alone = *yield_alone(bench);
  auto all = static_cast<double>(yields[0] + yields[1]);
  auto switched = static_cast<double>(switches[0] + switches[1]);
  if (switched < 10) return {};
  return (static_cast<double>(end - begin) - (all - switched) * alone) / switched;
}

// The share of a core, in percent, that is left to a thread that yields all the time beside one
// that computes. A fair share is 50; Linux 6.18 takes a slice off it at each yield.
std::optional<double> yield_share(const Bench& bench) {
  std::atomic<bool> stop{false};
  rusage used{};
  Nanoseconds begin = os::now();
  std::thread computes([&] {
    pin(bench.cpu(0));
    while (!stop) spin_for(100'000);
  });
  std::thread yields([&] {
    pin(bench.cpu(0));
    while (!stop) os::yield();
    getrusage(RUSAGE_THREAD, &used);
  });
  std::this_thread::sleep_for(std::chrono::nanoseconds(bench.duration * 4));
  stop = true;
  computes.join();
  yields.join();
  auto elapsed = static_cast<double>(os::now() - begin);
  auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return 100 * (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e9 / elapsed;
}

// For how long a computing thread stands still beside another: slices, cut to whole ticks.
std::optional<double> time_slice(const Bench& bench) {
  std::atomic<bool> stop{false};
  std::vector<double> gaps;
  std::thread other([&] {
    pin(bench.cpu(0));
    while (!stop) spin_for(100'000);
  });
  std::thread watcher([&] {
    pin(bench.cpu(0));
    Nanoseconds begin = os::now(), last = begin;
    while (last - begin < bench.duration * 4) {
      Nanoseconds now = os::now();
      if (now - last > 300'000) gaps.push_back(static_cast<double>(now - last));
      last = now;
    }
    stop = true;
  });
  watcher.join();
  other.join();
  return gaps.empty() ? std::nullopt : std::optional(median(gaps));
}

// The kernel's tick is the resolution of its coarse clock.
std::optional<double> tick(const Bench&) {
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return static_cast<double>(resolution.tv_nsec);
}

// An affinity call for a thread that sleeps.
std::optional<double> affinity(const Bench& bench) {
  Turns turns;
  std::atomic<pid_t> tid{0};
  std::thread sleeper([&] {
    tid = os::gettid();
    turns.wait(0);
  });
  while (tid == 0) os::yield();
  spin_for(1'000'000);
  unsigned other = bench.cpu(bench.machine.n_cores > 1 ? 1 : 0);
  unsigned round = 0;
  double each = time_each(bench.duration, [&] {
    CpuSet set;
    set.set(++round % 2 ? other : bench.cpu(0));
    os::set_affinity(tid, set.words, sizeof set.words);
  });
  turns.wake(0);
  sleeper.join();
  return each;
}

// In a child: it changes what SIGSYS means.
std::optional<double> trap(const Bench& bench) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  pid_t child = fork();
  if (child == 0) {
    constexpr unsigned kCalls = 1000;
    double each = -1;
    if (trap_calls(1) == 0) each = time_each(bench.duration, [] { trap_calls(kCalls); }) / kCalls;
    os::write(ends[1], &each, sizeof each);
    os::raw_syscall(SYS_exit_group, 0);
  }
  os::close(ends[1]);
  double each = -1;
  if (child < 0 || os::read(ends[0], &each, sizeof each) != sizeof each) each = -1;
  os::close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return each < 0 ? std::nullopt : std::optional(each);
}

double create_thread(Nanoseconds duration) {
  std::vector<double> calls;
  for (Nanoseconds begin = os::now(); os::now() - begin < duration;) {
    Nanoseconds called = os::now();
    std::thread thread([] {});
    calls.push_back(static_cast<double>(os::now() - called));
    thread.join();
  }
  return median(calls);
}

std::optional<double> create(const Bench& bench) { return create_thread(bench.duration); }

std::optional<double> fork_process(const Bench& bench) {
  std::vector<double> calls;
  for (Nanoseconds begin = os::now(); os::now() - begin < bench.duration;) {
    char name[] = "/bin/true";
    char* arguments[] = {name, nullptr};
    pid_t child = 0;
    Nanoseconds called = os::now();
    if (posix_spawn(&child, name, nullptr, nullptr, arguments, environ) != 0) return {};
    calls.push_back(static_cast<double>(os::now() - called));
    waitpid(child, nullptr, 0);
  }
  return median(calls);
}

std::optional<double> lock(const Bench& bench) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  return time_each(bench.duration,
                   [&] {
                     pthread_mutex_lock(&mutex);
                     pthread_mutex_unlock(&mutex);
                   }) /
         2;
}

std::optional<double> pause(const Bench& bench) {
  return time_each(bench.duration, [] { cpu_pause(); });
}

}  // namespace

std::optional<double> probe_handoff(Nanoseconds duration) {
  return pingpong([](int) {}, duration);
}

std::optional<double> probe_create(Nanoseconds duration) { return create_thread(duration); }

std::vector<Measurement> kernel_measurements() {
  return {
      {"futex_pair", "ns", "semaphore post and wait, from one thread to the next on one core",
       handoff},
      {"wake_busy", "ns", "the waker's part of a wake-up on its own core", wake_busy},
      {"wake_call", "ns", "the waker's part of a wake-up on a halted core", wake_call},
      {"wake_halted", "ns", "from a wake-up until a thread runs on a halted core", wake_halted},
      {"yield_alone", "ns", "sched_yield with nobody else", yield_alone},
      {"yield_switch", "ns", "sched_yield to a thread that yields", yield_switch},
      {"yield_share", "%", "of a core for a yielding thread beside a computing one", yield_share},
      {"time_slice", "ns", "a thread stands still beside another that computes", time_slice},
      {"tick", "ns", "the kernel's tick", tick},
      {"affinity", "ns", "affinity call for a sleeping thread", affinity},
      {"trap", "ns", "system call caught by Syscall User Dispatch", trap},
      {"create", "ns", "pthread_create, the creator's part", create},
      {"fork_process", "ns", "posix_spawn, the parent's part", fork_process},
      {"lock", "ns", "mutex lock or unlock without contention", lock},
      {"pause", "ns", "the pause instruction of busy-waiting loops", pause},
  };
}

}  // namespace roost::cli

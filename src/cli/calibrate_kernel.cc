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

// Threads that run in turn.
class Turns {
 public:
  explicit Turns(unsigned sides = 2) : sides_(sides) {
    for (sem_t& side : sides_) sem_init(&side, 0, 0);
  }
  void wait(unsigned side) {
    while (sem_wait(&sides_[side]) != 0) {
    }
  }
  void wake(unsigned side) { sem_post(&sides_[side]); }

 private:
  std::vector<sem_t> sides_;
};

// Round a ring of threads, each of which wakes the next: the time of one of them.
double ring(unsigned n, const std::function<void()>& place, Nanoseconds duration) {
  Turns turns(n);
  std::atomic<bool> stop{false};
  double each = 0;
  std::vector<std::thread> others;
  for (unsigned side = 1; side < n; ++side) {
    others.emplace_back([&, side] {
      place();
      for (;;) {
        turns.wait(side);
        turns.wake((side + 1) % n);
        if (stop) return;
      }
    });
  }
  std::thread timer([&] {
    place();
    each = time_each(duration, [&] {
      turns.wake(1);
      turns.wait(0);
    });
    stop = true;
    turns.wake(1);
  });
  timer.join();
  for (std::thread& other : others) other.join();
  return each / n;
}

std::optional<double> handoff(const Bench& bench) {
  return ring(
      2, [&] { pin(bench.cpu(0)); }, bench.duration);
}

struct WakeUp {
  double call;     // until the waker's call returns
  double latency;  // from its begin until the woken thread runs
  double half;     // half of the width of an even spread of the latencies
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
  std::sort(latencies.begin(), latencies.end());
  std::size_t quarter = latencies.size() / 4;
  double middle_half = latencies[latencies.size() - 1 - quarter] - latencies[quarter];
  return WakeUp{median(calls), median(latencies), middle_half};
}

constexpr Nanoseconds kUntilHalted = 500'000;  // longer than a guest polls before it halts (200 us)
constexpr Nanoseconds kHaltedJustNow = 5'000;

std::optional<double> wake_busy(const Bench& bench) {
  auto found = wake_up(bench.cpu(0), bench.cpu(0), 0, bench.duration);
  return found ? std::optional(found->call) : std::nullopt;
}

// From one core to another that has been without a thread for `pause`.
std::optional<WakeUp> wake_across(const Bench& bench, Nanoseconds pause) {
  if (bench.machine.n_cores < 2) return {};
  return wake_up(bench.cpu(0), bench.cpu(1), pause, bench.duration);
}

std::optional<double> wake_call(const Bench& bench) {
  auto found = wake_across(bench, kUntilHalted);
  return found ? std::optional(found->call) : std::nullopt;
}

std::optional<double> wake_halted(const Bench& bench) {
  auto found = wake_across(bench, kUntilHalted);
  return found ? std::optional(found->latency) : std::nullopt;
}

// The same on a core that had a thread a moment ago.
std::optional<double> wake_idle(const Bench& bench) {
  auto found = wake_across(bench, kHaltedJustNow);
  return found ? std::optional(found->latency) : std::nullopt;
}

// By how much the latencies of wake-ups differ: the width of the range that, if they were spread
// evenly over it, had as many of them in its middle half, either side of their median.
std::optional<double> wake_spread(const Bench& bench) {
  auto found = wake_across(bench, kHaltedJustNow);
  return found ? std::optional(1000 * found->half / found->latency) : std::nullopt;
}

// A thread on one core is granted another, on which a third one spins until it sees that, and gives
// it up, as Roost's idle cores do (runtime.cc): until the granted thread runs.
std::optional<double> wake_polling(const Bench& bench) {
  if (bench.machine.n_cores < 2) return {};
  constexpr Nanoseconds kPause = 20'000;
  Turns turns;
  std::atomic<bool> stop{false}, granted{false};
  std::atomic<Nanoseconds> ran_at{0};
  sem_t given_up;
  sem_init(&given_up, 0, 0);
  std::vector<double> latencies;
  std::thread spinner([&] {
    pin(bench.cpu(1));
    for (;;) {
      while (!granted && !stop) cpu_pause();
      if (stop) return;
      while (sem_wait(&given_up) != 0) {
      }
    }
  });
  std::thread sleeper([&] {
    pin(bench.cpu(1));
    while (!stop) {
      turns.wait(1);
      ran_at = os::now();
      granted = false;
      sem_post(&given_up);
    }
  });
  std::thread waker([&] {
    pin(bench.cpu(0));
    for (Nanoseconds begin = os::now(); os::now() - begin < bench.duration;) {
      spin_for(kPause);
      ran_at = 0;
      Nanoseconds called = os::now();
      granted = true;
      turns.wake(1);
      while (ran_at == 0) cpu_pause();
      latencies.push_back(static_cast<double>(ran_at - called));
    }
    stop = true;
    turns.wake(1);
    sem_post(&given_up);
  });
  waker.join();
  sleeper.join();
  spinner.join();
  return latencies.empty() ? std::nullopt : std::optional(median(latencies));
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

// Starts and joins so many threads at a time: what each of them takes.
ThreadLife threads_of(unsigned n, Nanoseconds duration) {
  std::vector<double> calls, lives;
  std::vector<std::thread> threads;
  for (Nanoseconds begin = os::now(); os::now() - begin < duration;) {
    Nanoseconds called = os::now();
    for (unsigned i = 0; i < n; ++i) threads.emplace_back([] {});
    Nanoseconds created = os::now();
    for (std::thread& thread : threads) thread.join();
    Nanoseconds joined = os::now();
    threads.clear();
    calls.push_back(static_cast<double>(created - called) / n);
    lives.push_back(static_cast<double>(joined - called) / n);
  }
  return {median(calls), median(lives)};
}

ThreadLife threads_on_one_core(const Bench& bench, unsigned n) {
  ThreadLife life{};
  on_cpu(bench.cpu(0), [&] {
    life = threads_of(n, bench.duration);
    return 0.0;
  });
  return life;
}

std::optional<double> create(const Bench& bench) { return threads_on_one_core(bench, 1).create; }

// More threads at a time than libc keeps stacks for.
std::optional<double> create_stack(const Bench& bench) {
  return threads_on_one_core(bench, 32).create;
}

std::optional<double> thread_life(const Bench& bench) { return threads_on_one_core(bench, 1).all; }

// A call of futex(2) on a word that is 0 and that nobody waits for.
std::optional<double> futex_call(const Bench& bench, int (*call)(const void* word)) {
  std::atomic<std::uint32_t> word{0};
  return on_cpu(bench.cpu(0), [&] { return time_each(bench.duration, [&] { call(&word); }); });
}

std::optional<double> futex_wait_in_vain(const Bench& bench) {
  return futex_call(bench,
                    [](auto* word) { return os::futex_wait(word, 1, os::FutexScope::process); });
}

std::optional<double> futex_wake_in_vain(const Bench& bench) {
  return futex_call(bench,
                    [](auto* word) { return os::futex_wake(word, 1, os::FutexScope::process); });
}

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

// Between two threads the kernel may run the one that is woken before the other sleeps, so that
// every second hand-off is of a thread that has not slept: more take turns than that.
double probe_handoff(unsigned threads, Nanoseconds duration) {
  return ring(
      threads, [] {}, duration);
}

ThreadLife probe_life(Nanoseconds duration) { return threads_of(1, duration); }

std::vector<Measurement> kernel_measurements() {
  return {
      {"futex_pair", "ns", "semaphore post and wait, from one thread to the next on one core",
       handoff},
      {"wake_busy", "ns", "the waker's part of a wake-up on its own core", wake_busy},
      {"wake_call", "ns", "the waker's part of a wake-up on a halted core", wake_call},
      {"wake_halted", "ns", "from a wake-up until a thread runs on a halted core", wake_halted},
      {"wake_idle", "ns", "the same on a core that has halted just now", wake_idle},
      {"wake_spread", "permille", "by so much these differ from their median", wake_spread},
      {"wake_polling", "ns", "the same where another thread spins until then", wake_polling},
      {"yield_alone", "ns", "sched_yield with nobody else", yield_alone},
      {"yield_switch", "ns", "sched_yield to a thread that yields", yield_switch},
      {"yield_share", "%", "of a core for a yielding thread beside a computing one", yield_share},
      {"time_slice", "ns", "a thread stands still beside another that computes", time_slice},
      {"tick", "ns", "the kernel's tick", tick},
      {"affinity", "ns", "affinity call for a sleeping thread", affinity},
      {"trap", "ns", "system call caught by Syscall User Dispatch", trap},
      {"create", "ns", "pthread_create with a stack that was kept, the creator's part", create},
      {"create_new", "ns", "the same in a row of 32, most with new stacks", create_stack},
      {"thread_life", "ns", "pthread_create and pthread_join on one core", thread_life},
      {"fork_process", "ns", "posix_spawn, the parent's part", fork_process},
      {"lock", "ns", "mutex lock or unlock without contention", lock},
      {"futex_wait", "ns", "futex wait that finds the word changed", futex_wait_in_vain},
      {"futex_wake", "ns", "futex wake that finds nobody", futex_wake_in_vain},
      {"pause", "ns", "the pause instruction of busy-waiting loops", pause},
  };
}

}  // namespace roost::cli

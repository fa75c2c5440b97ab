// Costs that caches, memory and clock make, measured by threads pinned to a core each.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "cli/calibration.h"
#include "cli/pinned.h"

namespace roost::cli {
namespace {

constexpr std::size_t kLine = kCacheLine;

using Buffer = std::vector<std::uint64_t>;  // touched by whoever makes it, so it lies near

// Reads and writes a word of each line: what a thread's working set has to go through after a move.
std::uint64_t touch(Buffer& buffer) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < buffer.size(); i += kLine / sizeof buffer[0]) sum += ++buffer[i];
  return sum;
}

// Keeps the compiler from leaving out what computes `value`.
template <class Value>
void use(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

struct Distance {
  const char* name;
  const char* what;
  bool (*holds)(const Core& a, const Core& b);
};
const Distance kDistances[] = {
    {"sibling", "the sibling hardware thread",
     [](const Core& a, const Core& b) { return a.smt_sibling_group == b.smt_sibling_group; }},
    {"cache", "a core of the same last-level cache",
     [](const Core& a, const Core& b) {
       return a.smt_sibling_group != b.smt_sibling_group && a.llc == b.llc;
     }},
    {"node", "another cache of the NUMA node",
     [](const Core& a, const Core& b) { return a.llc != b.llc && a.numa_node == b.numa_node; }},
    {"socket", "another NUMA node of the socket",
     [](const Core& a, const Core& b) {
       return a.numa_node != b.numa_node && a.socket == b.socket;
     }},
    {"beyond", "another socket", [](const Core& a, const Core& b) { return a.socket != b.socket; }},
};

// The core nearest to core 0 by number at that distance; nothing if there is none.
std::optional<unsigned> partner(const Machine& machine, const Distance& distance) {
  for (unsigned core = 1; core < machine.n_cores; ++core) {
    if (distance.holds(machine.cores[0], machine.cores[core])) return core;
  }
  return {};
}

// What a KiB of a thread's working set costs it after a move: the first pass on the new core, less
// a pass that finds everything near.
std::optional<double> refill(const Bench& bench, const Distance& distance, std::size_t kib) {
  std::optional<unsigned> other = partner(bench.machine, distance);
  if (!other) return {};
  unsigned cpus[2] = {bench.cpu(0), bench.cpu(*other)};
  return on_cpu(cpus[0], [&] {
    Buffer buffer(kib * 1024 / sizeof(std::uint64_t));
    std::vector<double> cold, warm;
    unsigned move = 0;
    for (Nanoseconds begin = os::now(); os::now() - begin < bench.duration || cold.size() < 3;) {
      use(touch(buffer));
      Nanoseconds start = os::now();
      use(touch(buffer));
      warm.push_back(static_cast<double>(os::now() - start));
      pin(cpus[++move % 2]);
      start = os::now();
      use(touch(buffer));
      cold.push_back(static_cast<double>(os::now() - start));
    }
    return std::max(0.0, median(cold) - median(warm)) / static_cast<double>(kib);
  });
}

// A line from one core that writes it to another that polls it.
std::optional<double> cache_line(const Bench& bench) {
  if (bench.machine.n_cores < 2) return {};
  std::atomic<std::uint64_t> turn{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    pin(bench.cpu(1));
    while (!stop) {
      std::uint64_t seen = turn.load(std::memory_order_acquire);
      if (seen % 2) turn.store(seen + 1, std::memory_order_release);
    }
  });
  double each = on_cpu(bench.cpu(0), [&] {
    std::uint64_t mine = 0;
    return time_each(bench.duration, [&] {
      turn.store(++mine, std::memory_order_release);
      ++mine;
      while (turn.load(std::memory_order_acquire) != mine) {
      }
    });
  });
  stop = true;
  other.join();
  return each / 2;
}

// Cores of the first NUMA node, one hardware thread of each.
std::vector<unsigned> physical_cores(const Machine& machine) {
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < machine.n_cores; ++core) {
    bool first = machine.cores[core].numa_node == 0;
    for (unsigned before : cores)
      first &= machine.cores[before].smt_sibling_group != machine.cores[core].smt_sibling_group;
    if (first) cores.push_back(core);
  }
  return cores;
}

// `body` once on each of `cores` at the same time, started together; the sum of what they return.
template <class Body>
double together(const Bench& bench, const std::vector<unsigned>& cores, Body&& body) {
  std::atomic<std::size_t> ready{0};
  std::vector<double> results(cores.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    threads.emplace_back([&, i] {
      pin(bench.cpu(cores[i]));
      results[i] = body([&] {
        ++ready;
        while (ready < cores.size()) os::yield();
      });
    });
  }
  double sum = 0;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    threads[i].join();
    sum += results[i];
  }
  return sum;
}

// GB/s that threads on `cores` read together, from memory that each has touched first.
double bandwidth(const Bench& bench, const std::vector<unsigned>& cores) {
  constexpr std::size_t kWords =
      (64u << 20) / sizeof(std::uint64_t);  // larger than a core's caches
  return together(bench, cores, [&](auto&& meet) {
    Buffer buffer(kWords, 1);
    meet();
    double each = time_each(bench.duration, [&] {
      std::uint64_t sums[8] = {};
      for (std::size_t i = 0; i < kWords; i += 8) {
        for (std::size_t k = 0; k < 8; ++k) sums[k] += buffer[i + k];
      }
      use(sums);
    });
    return static_cast<double>(kWords * sizeof(std::uint64_t)) / each;
  });
}

std::optional<double> bandwidth_core(const Bench& bench) { return bandwidth(bench, {0}); }

std::optional<double> bandwidth_node(const Bench& bench) {
  return bandwidth(bench, physical_cores(bench.machine));
}

// The same by one core from memory of another node.
std::optional<double> bandwidth_remote(const Bench& bench) {
  std::optional<unsigned> other;
  for (unsigned core = 1; core < bench.machine.n_cores && !other; ++core) {
    if (bench.machine.cores[core].numa_node != bench.machine.cores[0].numa_node) other = core;
  }
  if (!other) return {};
  constexpr std::size_t kWords = (64u << 20) / sizeof(std::uint64_t);
  Buffer buffer = on_cpu(bench.cpu(*other), [] { return Buffer(kWords, 1); });
  double each = on_cpu(bench.cpu(0), [&] {
    return time_each(bench.duration, [&] {
      std::uint64_t sum = 0;
      for (std::uint64_t word : buffer) sum += word;
      use(sum);
    });
  });
  return static_cast<double>(kWords * sizeof(std::uint64_t)) / each;
}

// MHz by a chain of additions, each of which waits for the one before: one a cycle.
double chain_mhz(Nanoseconds duration) {
  constexpr int kAdditions = 1000;
  double each = time_each(duration, [] {
    std::uint64_t sum = 0;
    for (int i = 0; i < kAdditions; i += 10) {
      for (int k = 0; k < 10; ++k) {
        sum += 1;
        asm volatile("" : "+r"(sum));
      }
    }
    use(sum);
  });
  return kAdditions * 1000 / each;
}

double mhz(const Bench& bench, const std::vector<unsigned>& cores) {
  return together(bench, cores,
                  [&](auto&& meet) {
                    meet();
                    return chain_mhz(bench.duration);
                  }) /
         static_cast<double>(cores.size());
}

std::optional<double> mhz_one(const Bench& bench) { return mhz(bench, {0}); }

std::optional<double> mhz_all(const Bench& bench) {
  return mhz(bench, physical_cores(bench.machine));
}

// Speed of a hardware thread while its sibling computes, in permille of its speed alone.
std::optional<double> smt_permille(const Bench& bench) {
  std::optional<unsigned> sibling = partner(bench.machine, kDistances[0]);
  if (!sibling) return {};
  return 1000 * mhz(bench, {0, *sibling}) / mhz(bench, {0});
}

std::optional<double> sysfs_mhz(const char* file) {
  std::string path = std::string("/sys/devices/system/cpu/cpu0/cpufreq/") + file;
  std::FILE* opened = std::fopen(path.c_str(), "re");
  if (!opened) return {};
  unsigned long khz = 0;
  bool read = std::fscanf(opened, "%lu", &khz) == 1;
  std::fclose(opened);
  return read ? std::optional(static_cast<double>(khz) / 1000) : std::nullopt;
}

}  // namespace

std::vector<Measurement> processor_measurements() {
  std::vector<Measurement> all{
      {"cache_line", "ns", "a written line seen by a core that polls it", cache_line}};
  for (const Distance& distance : kDistances) {
    for (std::size_t kib : {64, 256, 1024}) {
      all.push_back(
          {"refill_" + std::string(distance.name) + "_" + std::to_string(kib), "ns/KiB",
           "working set of " + std::to_string(kib) + " KiB moved to " + distance.what,
           [&distance, kib](const Bench& bench) { return refill(bench, distance, kib); }});
    }
  }
  all.insert(
      all.end(),
      {
          {"bandwidth_core", "GB/s", "memory read by one core", bandwidth_core},
          {"bandwidth_node", "GB/s", "memory read by all cores of a NUMA node", bandwidth_node},
          {"bandwidth_remote", "GB/s", "memory of another node read by one core", bandwidth_remote},
          {"mhz_one", "MHz", "clock of a core that computes alone", mhz_one},
          {"mhz_all", "MHz", "clock while all cores of the node compute", mhz_all},
          {"mhz_min", "MHz", "least clock (cpufreq)",
           [](const Bench&) { return sysfs_mhz("cpuinfo_min_freq"); }},
          {"mhz_base", "MHz", "nominal clock (cpufreq)",
           [](const Bench&) { return sysfs_mhz("base_frequency"); }},
          {"smt_permille", "permille", "speed of a hardware thread beside a busy sibling",
           smt_permille},
      });
  return all;
}

}  // namespace roost::cli

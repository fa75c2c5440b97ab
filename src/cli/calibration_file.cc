// Writes the figures of a calibration as a machine file, each line with where its number is from.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "cli/calibration.h"

namespace roost::cli {
namespace {

unsigned count(const Machine& machine, std::uint16_t Core::*group) {
  unsigned groups = 0;
  for (unsigned i = 0; i < machine.n_cores; ++i)
    groups = std::max<unsigned>(groups, machine.cores[i].*group + 1u);
  return groups;
}

// "major * 1000 + minor" of the running kernel.
unsigned kernel_release() {
  utsname names{};
  unsigned major = 0, minor = 0;
  if (uname(&names) != 0 || std::sscanf(names.release, "%u.%u", &major, &minor) != 2) return 0;
  return major * 1000 + minor;
}

// EEVDF's base slice, which only root may ask for: 0.7 ms (0.75 before 6.15) times 1 + log2 of the
// CPUs, of which eight count at most (kernel/sched/fair.c, update_sysctl()).
Nanoseconds base_slice(unsigned cpus) {
  Nanoseconds normalized = kernel_release() >= 6015 ? 700'000 : 750'000;
  return normalized * static_cast<unsigned>(std::bit_width(std::clamp(cpus, 1u, 8u)));
}

class Writer {
 public:
  explicit Writer(const Figures& figures) : figures_(figures) {}

  void section(const char* name) { text_ += fmt::format("\n[{}]\n", name); }
  void line(const std::string& text) { text_ += text + "\n"; }
  void number(const char* key, double value, const std::string& from) {
    long long whole = std::llround(value);
    text_ += fmt::format("{} = {}{}\n", key, whole, from.empty() ? "" : "  # " + from);
  }
  // A figure that has the name of its key.
  void measured(const char* key, double least, double assumed) { of(key, key, least, assumed); }
  void of(const char* key, const char* figure, double least, double assumed) {
    if (!figures_.has(figure)) return number(key, assumed, "assumed");
    number(key, std::max(least, figures_.value(figure, 0)), spread(figure));
  }
  std::string spread(const std::string& name) const {
    auto found = figures_.by_name.find(name);
    if (found == figures_.by_name.end()) return "assumed";
    const Figure& figure = found->second;
    return fmt::format("{:.4g} to {:.4g}", figure.values.front(), figure.values.back());
  }
  const std::string& text() const { return text_; }

 private:
  const Figures& figures_;
  std::string text_;
};

void write_topology(Writer& out, const Machine& machine) {
  unsigned sockets = count(machine, &Core::socket), llcs = count(machine, &Core::llc);
  unsigned physical = count(machine, &Core::smt_sibling_group);
  unsigned nodes = std::max<unsigned>(1, machine.n_nodes / sockets);
  unsigned caches = std::max(1u, llcs / (sockets * nodes));
  unsigned cores = std::max(1u, physical / (sockets * nodes * caches));
  unsigned threads = machine.n_cores > physical ? 2 : 1;
  out.section("topology");
  if (sockets * nodes * caches * cores * threads != machine.n_cores)
    out.line(fmt::format("# the {} cores here are not arranged evenly; this comes nearest",
                         machine.n_cores));
  out.number("sockets", sockets, "");
  out.number("nodes_per_socket", nodes, "");
  out.number("llcs_per_node", caches, "");
  out.number("cores_per_llc", cores, "");
  out.number("threads_per_core", threads, "");
}

void write_frequency(Writer& out, const Machine& machine, const Figures& figures) {
  out.section("frequency");
  double all = figures.value("mhz_all", 2500), one = std::max(all, figures.value("mhz_one", all));
  if (!figures.has("mhz_min")) {
    out.line(
        "control = \"fixed\"  # no cpufreq here: what turns the clock up and down is not visible");
    return out.number("nominal_mhz", all, out.spread("mhz_all"));
  }
  double nominal = std::min(all, figures.value("mhz_base", all));
  unsigned cores = count(machine, &Core::smt_sibling_group) / count(machine, &Core::socket);
  out.line("control = \"hardware\"  # \"software\" where the governor sets the clock (SpeedStep)");
  out.number("min_mhz", std::min(nominal, figures.value("mhz_min", nominal)), "cpufreq");
  out.number("nominal_mhz", nominal, figures.has("mhz_base") ? "cpufreq" : out.spread("mhz_all"));
  out.line(
      cores > 1
          ? fmt::format("turbo = [[1, {:.0f}], [{}, {:.0f}]]  # the steps between are not measured",
                        one, cores, all)
          : fmt::format("turbo = [[1, {:.0f}]]", one));
  out.line("update_ns = 1000000  # this and what follows: assumed");
  out.line("ramp_mhz_per_ms = 300\nactive_window_ns = 10000000\ndecay_ns = 20000000");
}

void write_costs(Writer& out, const Figures& figures) {
  double pair = figures.value("futex_pair", 2700), busy = figures.value("wake_busy", 1000);
  double change = std::max(0.0, pair - busy);  // on a busy machine the one may seem less
  double handoff = figures.value("handoff", pair);
  out.section("costs_ns");
  out.number("switch", change, "a semaphore's post and wait on one core, less the post");
  if (figures.has("handoff")) {
    out.number("handoff", handoff, out.spread("handoff") + ", under Roost");
  } else {
    out.number("handoff", handoff, "a semaphore's post and wait under Linux: Roost could not run");
  }
  out.measured("wake_call", 0, busy);
  out.measured("wake_busy", 0, busy);
  out.measured("wake_halted", 0, 5 * pair);
  out.measured("wake_idle", 0, figures.value("wake_halted", 5 * pair));
  out.measured("wake_polling", 0, handoff + figures.value("cache_line", 200));
  out.number("wake_spread_permille", std::min(1000.0, figures.value("wake_spread", 0)),
             out.spread("wake_spread"));
  out.measured("yield_alone", 0, 500);
  out.measured("yield_switch", 0, change);
  out.measured("affinity", 0, 1500);
  out.measured("trap", 0, 2700);
  double create = figures.value("create", 20'000);
  out.measured("create", 0, 20'000);
  out.number("create_stack", std::max(0.0, figures.value("create_new", create) - create),
             "a start in a row of many, less one by itself");
  out.number("end", std::max(0.0, figures.value("thread_life", create) - create - 2 * change),
             "start and join on one core, less the start and two switches");
  if (figures.has("reuse")) {
    out.measured("reuse", 0, 0);
    double pair_kept = 2 * figures.value("handoff_pair", handoff);
    out.number("end_kept",
               std::max(0.0, figures.value("kept_life", 0) - figures.value("reuse", 0) - pair_kept),
               "the same under Roost, less the start and two hand-offs");
  } else {
    out.number("reuse", create / 10, "assumed: Roost could not run");
  }
  out.measured("fork_process", 0, 500'000);
  out.measured("lock", 1, 20);
  out.number("futex_look", figures.value("futex_wait", 0) * 2 / 3,
             "two thirds of a futex wait that finds the word changed, " + out.spread("futex_wait"));
  out.of("futex_call", "futex_wake", 0, 0);
  out.measured("pause", 0, 25);
  out.measured("cache_line", 0, 200);
  std::string refills;
  double nearer = 0;  // of the distances that this machine does not have
  for (const char* distance : {"sibling", "cache", "node", "socket", "beyond"}) {
    double sum = 0, n = 0;
    for (const char* kib : {"_64", "_256", "_1024"}) {
      std::string name = std::string("refill_") + distance + kib;
      if (!figures.has(name)) continue;
      sum += figures.value(name, 0);
      ++n;
    }
    if (n > 0) nearer = std::max(nearer, sum / n);
    refills += fmt::format("{}{:.0f}", refills.empty() ? "" : ", ", nearer);
  }
  out.line(
      "# sibling, same cache, node, socket, beyond: the mean over working sets of 64 KiB to 1 "
      "MiB;");
  out.line("# a distance that this machine does not have costs what the next nearer one does");
  out.line(fmt::format("refill_per_kib = [{}]", refills));
}

}  // namespace

std::string machine_file(const Machine& machine, const Figures& figures, const std::string& name,
                         unsigned rounds) {
  utsname names{};
  uname(&names);
  char date[16] = "";
  std::time_t now = std::time(nullptr);
  if (tm broken{}; gmtime_r(&now, &broken)) std::strftime(date, sizeof date, "%F", &broken);

  Writer out(figures);
  out.line(std::string(kMachineFileBegins) + " Numbers are medians; behind");
  out.line("# them stand the least and the greatest of all rounds.");
  out.line(fmt::format("name = \"{}\"", name));
  out.line(fmt::format("summary = \"{} cores, measured {}\"", machine.n_cores, date));
  out.line(
      fmt::format("source = \"roost sim calibrate, {} rounds, Linux {}\"", rounds, names.release));
  write_topology(out, machine);
  write_frequency(out, machine, figures);
  write_costs(out, figures);

  out.section("sharing");
  if (figures.has("smt_permille"))
    out.number("smt_permille", std::clamp(figures.value("smt_permille", 620), 100.0, 1000.0),
               out.spread("smt_permille"));
  double core = figures.value("bandwidth_core", 1), node = figures.value("bandwidth_node", core);
  out.number("memory_threads", std::clamp(node / core, 1.0, 1024.0),
             fmt::format("{:.1f} GB/s of the node by {:.1f} of a core", node, core));
  if (figures.has("bandwidth_remote"))
    out.number("remote_permille",
               std::clamp(1000 * core / figures.value("bandwidth_remote", core), 1000.0, 10'000.0),
               fmt::format("{:.1f} GB/s of another node", figures.value("bandwidth_remote", core)));

  out.section("kernel");
  out.of("tick_ns", "tick", 100'000, 4'000'000);
  out.number("slice_ns", static_cast<double>(base_slice(machine.n_cores)),
             "the kernel's default for so many CPUs");
  constexpr double kFairShare =
      40;  // percent; Linux 6.18 leaves about 25, older kernels 50 and more
  double share = figures.value("yield_share", 50);
  out.line(fmt::format(
      "yield_forfeits = {}  # a yielding thread had {:.1f} % of a core beside a computing one",
      share < kFairShare, share));
  return out.text();
}

}  // namespace roost::cli

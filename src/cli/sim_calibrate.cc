// `roost sim calibrate`: measures the machine it runs on and writes it as one for `roost sim`.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/calibration.h"
#include "cli/error.h"
#include "cli/output_file.h"
#include "cli/own_cores.h"
#include "cli/progress.h"
#include "cli/sim.h"
#include "topo/hwloc_host.h"

namespace roost::cli {
namespace {

struct Effort {
  unsigned rounds;
  Nanoseconds duration;
};
constexpr Effort kThorough{7, 100'000'000};
constexpr Effort kQuick{3, 10'000'000};

// The child of probe_under_roost().
int probe(const Effort& effort) {
  ThreadLife life = probe_life(effort.duration);
  fmt::print("{} {} {} {}\n", probe_handoff(8, effort.duration), probe_handoff(2, effort.duration),
             life.create, life.all);
  return 0;
}

// What a hand-off and a thread's start cost under Roost, on one core; nothing if it cannot run.
void probe_under_roost(const SimOptions& options, Figures& figures) {
  std::error_code error;
  std::string self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || self.find('\'') != std::string::npos) return;
  std::string command = fmt::format(
      "'{0}' run --instance calibrate-{1} --cores 1 -- '{0}' sim calibrate --probe {2} 2>/dev/null",
      self, getpid(), options.quick ? "--quick" : "");
  std::FILE* output = popen(command.c_str(), "re");
  if (!output) return;
  double handoff = 0, pair = 0, create = 0, life = 0;
  bool read = std::fscanf(output, "%lf %lf %lf %lf", &handoff, &pair, &create, &life) == 4;
  if (pclose(output) != 0 || !read) return;
  figures.add("handoff", "ns", "the same under Roost, in a ring of eight", handoff);
  figures.add("handoff_pair", "ns", "the same between two", pair);
  figures.add("reuse", "ns", "pthread_create of a thread that Roost has kept", create);
  figures.add("kept_life", "ns", "the same until it has been joined", life);
}

std::string table(const Figures& figures) {
  std::string text =
      fmt::format("{:<18} {:>9} {:>9} {:>9}  {:<8}\n", "", "median", "least", "greatest", "unit");
  for (const std::string& name : figures.order) {
    const Figure& figure = figures.by_name.at(name);
    text += fmt::format("{:<18} {:>9.5g} {:>9.5g} {:>9.5g}  {:<8}  {}\n", name, figure.median(),
                        figure.values.front(), figure.values.back(), figure.unit, figure.what);
  }
  return text;
}

}  // namespace

int sim_calibrate(const SimOptions& options) {
  const Effort& effort = options.quick ? kQuick : kThorough;
  if (options.probe) return probe(effort);
  if (getenv("ROOST_INSTANCE"))
    die(kWrongUsage, "roost sim calibrate measures the kernel; start it outside of roost run");
  if (!options.out.empty())
    check_output(options.out, kMachineFileBegins, "measured machine", "--out", kFailed);
  Machine machine;
  if (machine_from_hwloc(own_mask(), machine) != 0)
    die(kFailed, "hwloc cannot tell this machine's topology");
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.25 * machine.n_cores)
    warn("other programs run here (load {:.1f}): costs will be measured too high", load);

  Bench bench{machine, effort.duration};
  std::vector<Measurement> all = all_measurements();
  Progress progress(effort.rounds * all.size());
  Figures figures =
      measure(bench, all, effort.rounds, [&](const std::string& name) { progress.next(name); });
  for (unsigned round = 0; round < effort.rounds; ++round) probe_under_roost(options, figures);
  progress.clear();

  fmt::print("{}", table(figures));
  if (!figures.has("handoff"))
    warn("Roost itself could not be measured (roost doctor says why); its costs are assumed");
  if (options.out.empty()) {
    fmt::print("\n--out FILE writes these as a machine for roost sim --machine FILE.\n");
    return 0;
  }
  std::string name = std::filesystem::path(options.out).stem();
  write_text(options.out, machine_file(machine, figures, name, effort.rounds));
  fmt::print("\nWritten: {}\n", options.out);
  return 0;
}

}  // namespace roost::cli

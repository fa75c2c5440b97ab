// Puts machine, program and scheduler together and collects the figures.
#include "sim/simulate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sched/policy_file.h"
#include "sim/checker.h"
#include "sim/linux_scheduler.h"
#include "sim/roost_scheduler.h"
#include "sim/toml_reader.h"
#include "sim/world.h"

namespace roost::sim {
namespace {

class Latencies : public Observer {
 public:
  void replied(Nanoseconds latency) override { all.push_back(latency); }
  // The least latency that so many permille of the requests do not exceed.
  Nanoseconds at(std::uint64_t permille) const {
    if (all.empty()) return 0;
    std::size_t rank = (all.size() * permille + 999) / 1000;
    return all[rank ? rank - 1 : 0];
  }
  std::vector<Nanoseconds> all;
};

// Asks the scheduler now and then whether its tables are in order: that takes a look at all cores.
class TableCheck : public Observer {
 public:
  TableCheck(Scheduler& scheduler, const Checker& checker)
      : scheduler_(scheduler), checker_(checker) {}
  void at_rest() override {
    constexpr unsigned kEvery = 16;
    if (++rests_ % kEvery) return;
    std::string broken = scheduler_.broken();
    if (!broken.empty()) throw Violation(broken + "\nthe last events:\n" + checker_.last_events());
  }

 private:
  Scheduler& scheduler_;
  const Checker& checker_;
  unsigned rests_ = 0;
};

// Ends the run with the first answer of the policy's that could not be followed.
class AnswerCheck : public Observer {
 public:
  explicit AnswerCheck(const Scheduler& scheduler) : scheduler_(scheduler) {}
  void at_rest() override {
    if (const char* fault = scheduler_.policy_fault()) throw Violation(fault);
  }

 private:
  const Scheduler& scheduler_;
};

void collect(RunResult& result, const World& world) {
  const Machine& machine = world.machine();
  const Counts& counts = world.counts();
  result.time = world.last_end();
  result.events = counts.events;
  result.threads = counts.threads;
  result.units = counts.done;
  result.requests = counts.requests;
  result.switches = counts.switches;
  result.migrations = counts.migrations;
  unsigned __int128 picojoules = 0;
  std::vector<Nanoseconds> busiest;
  for (CoreIndex core = 0; core < world.n_cores(); ++core) {
    Nanoseconds busy = world.busy(core);
    result.busy += busy;
    result.cores_used += busy > 0;
    busiest.push_back(busy);
    Nanoseconds idle = result.time > busy ? result.time - busy : 0;
    picojoules += world.energy_picojoules(core);
    picojoules += static_cast<unsigned __int128>(idle) * machine.idle_milliwatts;
  }
  for (unsigned node = 0; node < machine.nodes(); ++node)
    result.controllers_busy.push_back(world.controller_busy(node));
  picojoules +=
      static_cast<unsigned __int128>(result.time) * machine.sockets * machine.socket_milliwatts;
  std::sort(busiest.rbegin(), busiest.rend());
  for (Nanoseconds sum = 0; sum < result.busy / 10 * 9; ++result.cores_for_most)
    sum += busiest[result.cores_for_most];
  result.energy_millijoules = static_cast<std::uint64_t>(picojoules / 1'000'000'000);
  const std::vector<Nanoseconds>& steps = world.time_by_frequency();
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[i]) result.by_mhz[i * 100] = steps[i];
  }
}

}  // namespace

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names{"linux", "smove"};
  for (const Policy* const* policy = kPolicies; *policy; ++policy)
    names.emplace_back((*policy)->name);
  return names;
}

bool is_linux(const std::string& name) { return name == "linux" || name == "smove"; }

const Policy* find_any_policy(const std::string& name) {
  if (is_linux(name)) return nullptr;
  if (is_policy_path(name.c_str())) {
    PolicyFileError error;
    if (const PolicyFile* file = load_policy_file(name.c_str(), {}, error))
      return &file->plug_in.policy();
    throw InputError(error.c_str());
  }
  if (const Policy* policy = find_policy(name.c_str())) return policy;
  throw InputError(fmt::format("there is no policy '{}'; there are {}", name,
                               fmt::join(scheduler_names(), ", ")));
}

std::unique_ptr<Scheduler> make_scheduler(const RunOptions& options) {
  if (options.policy == "linux") return std::make_unique<LinuxScheduler>();
  if (options.policy == "smove")
    return std::make_unique<LinuxScheduler>(LinuxScheduler::Placement::smove);
  const Policy* policy = find_any_policy(options.policy);
  RoostScheduler::Parameters given;
  for (const auto& [name, value] : options.parameters) {
    if (find_parameter(*policy, name.c_str()) >= 0) given.emplace(name, value);
  }
  return std::make_unique<RoostScheduler>(*policy, given);
}

RunResult simulate(const Machine& machine, const Program& program, const RunOptions& options) {
  std::unique_ptr<Scheduler> scheduler = make_scheduler(options);
  return simulate(machine, program, *scheduler, options);
}

RunResult simulate(const Machine& machine, const Program& program, Scheduler& scheduler,
                   const RunOptions& options) {
  RunResult result;
  result.policy = scheduler.name();
  result.seed = options.seed;
  World world(machine, program, options.governor, scheduler);
  Latencies latencies;
  world.watch(latencies);
  Promises promises;
  promises.work_conserving = scheduler.is_work_conserving();
  promises.most_work = std::uint64_t{machine.max_mhz()} * 1000;
  Checker checker(world.n_cores(), promises, &scheduler);
  TableCheck tables(scheduler, checker);
  AnswerCheck answers(scheduler);
  world.watch(answers);
  if (options.check) {
    world.watch(checker);
    world.watch(tables);
  }
  for (Observer* watcher : options.watchers) world.watch(*watcher);
  World::Outcome outcome;
  try {
    outcome = world.run(options.time_limit);
    if (options.check) checker.finish(outcome == World::Outcome::stuck);
  } catch (const Violation& violation) {
    throw Violation(
        fmt::format("seed {}, policy {}: {}", options.seed, result.policy, violation.what()));
  }
  collect(result, world);
  result.finished = outcome == World::Outcome::finished;
  if (outcome == World::Outcome::stuck) result.trouble = world.describe_stuck();
  if (outcome == World::Outcome::time_limit) {
    result.time = options.time_limit;
    result.trouble = fmt::format("had not finished after {} ms of simulated time",
                                 options.time_limit / 1'000'000);
  }
  std::sort(latencies.all.begin(), latencies.all.end());
  result.latency_p50 = latencies.at(500);
  result.latency_p95 = latencies.at(950);
  result.latency_p99 = latencies.at(990);
  result.latency_max = latencies.at(1000);
  return result;
}

}  // namespace roost::sim

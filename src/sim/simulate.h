// One run: a scenario on a machine under a scheduler, and what came of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "sim/machine.h"
#include "sim/observer.h"
#include "sim/scenario.h"
#include "sim/scheduler.h"

namespace roost::sim {

struct RunOptions {
  std::string policy = "coop";                      // a Roost policy, or "linux"
  std::map<std::string, std::uint64_t> parameters;  // those given, of the policy
  Governor governor = Governor::schedutil;
  std::uint64_t seed = 1;
  Nanoseconds time_limit = 600'000'000'000;
  bool check = false;                    // under the checkers
  std::vector<Observer*> watchers = {};  // a trace, a bar
};

struct RunResult {
  std::string policy;
  std::uint64_t seed = 0;
  bool finished = false;
  std::string trouble;   // why it did not finish
  Nanoseconds time = 0;  // until the last thread ended or the last request was answered
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t units = 0;
  std::uint64_t requests = 0;
  Nanoseconds latency_p50 = 0, latency_p95 = 0, latency_p99 = 0, latency_max = 0;
  std::uint64_t switches = 0;
  std::uint64_t migrations = 0;
  unsigned cores_used = 0;
  unsigned cores_for_most = 0;                  // the fewest cores that did nine tenths of the work
  Nanoseconds busy = 0;                         // of all cores together
  std::vector<Nanoseconds> controllers_busy;    // by NUMA node
  std::map<std::uint32_t, Nanoseconds> by_mhz;  // busy time, in steps of 100 MHz
  std::uint64_t energy_millijoules = 0;

  double units_per_second() const {
    return time ? static_cast<double>(units) * 1e9 / static_cast<double>(time) : 0;
  }
};

// Whether a scheduler is Linux's, with one placement or another.
bool is_linux(const std::string& name);
// A policy of Roost's by its name, or a plug-in by its path; null for Linux. InputError if there is
// none.
const Policy* find_any_policy(const std::string&);
// InputError if there is no such policy.
std::unique_ptr<Scheduler> make_scheduler(const RunOptions&);
std::vector<std::string> scheduler_names();

// Violation (sim/checker.h), with the seed in its text, if a checker finds a promise broken.
RunResult simulate(const Machine&, const Program&, const RunOptions&);
// The same with a scheduler of the caller's.
RunResult simulate(const Machine&, const Program&, Scheduler&, const RunOptions&);

}  // namespace roost::sim

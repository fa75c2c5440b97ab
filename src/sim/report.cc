// Medians over seeds, columns, and time by frequency.
#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace roost::sim {
namespace {

// The runs of one policy.
struct Group {
  std::string policy;
  std::vector<const RunResult*> runs;

  template <class Get>
  auto median(Get&& get) const {
    std::vector<decltype(get(*runs[0]))> values;
    for (const RunResult* run : runs) values.push_back(get(*run));
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
  }
};

std::vector<Group> by_policy(const Comparison& comparison) {
  std::vector<Group> groups;
  for (const RunResult& run : comparison.runs) {
    if (groups.empty() || groups.back().policy != run.policy) groups.push_back({run.policy, {}});
    groups.back().runs.push_back(&run);
  }
  return groups;
}

std::string laid_out(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line +=
          i ? fmt::format("  {:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

// Busy time by rung of the turbo ladder, in percent.
std::string frequency_table(const std::vector<Group>& groups, const Machine& machine) {
  std::vector<std::uint32_t> edges{machine.nominal_mhz};
  for (auto step = machine.turbo.rbegin(); step != machine.turbo.rend(); ++step) {
    if (step->mhz > edges.back()) edges.push_back(step->mhz);
  }
  std::vector<std::vector<std::string>> rows{{"busy at GHz"}};
  std::uint32_t from = machine.min_mhz;
  for (std::uint32_t edge : edges) {
    rows[0].push_back(fmt::format("{:.1f}-{:.1f}", from / 1000.0, edge / 1000.0));
    from = edge;
  }
  for (const Group& group : groups) {
    std::vector<Nanoseconds> sums(edges.size());
    Nanoseconds total = 0;
    for (const RunResult* run : group.runs) {
      for (const auto& [mhz, time] : run->by_mhz) {
        std::size_t bin = 0;
        while (bin + 1 < edges.size() && mhz > edges[bin]) ++bin;
        sums[bin] += time;
        total += time;
      }
    }
    rows.push_back({group.policy});
    for (Nanoseconds sum : sums)
      rows.back().push_back(total ? fmt::format("{}%", (sum * 1000 / total + 5) / 10) : "-");
  }
  return laid_out(rows);
}

}  // namespace

std::string format_time(Nanoseconds time) {
  if (time < 10'000) return fmt::format("{} ns", time);
  if (time < 10'000'000) return fmt::format("{:.1f} us", static_cast<double>(time) / 1e3);
  if (time < 10'000'000'000) return fmt::format("{:.2f} ms", static_cast<double>(time) / 1e6);
  return fmt::format("{:.3f} s", static_cast<double>(time) / 1e9);
}

std::string comparison_table(const Comparison& comparison, const Machine& machine) {
  std::vector<Group> groups = by_policy(comparison);
  bool latencies = false, units = false;
  for (const RunResult& run : comparison.runs) {
    latencies |= run.requests > 0;
    units |= run.units > 0;
  }
  std::vector<std::string> head{"policy", "time", "speed"};
  if (groups[0].runs.size() > 1) head.emplace_back("spread");
  if (units) head.push_back(comparison.unit + "s/s");
  if (latencies) head.insert(head.end(), {"p50", "p95", "p99"});
  head.insert(head.end(), {"switches", "migrations", "cores", "90% on", "busy", "energy J"});
  std::vector<std::vector<std::string>> rows{head};
  auto time = [](const RunResult& run) { return run.time; };
  auto base = static_cast<double>(groups[0].median(time));
  std::string troubles;
  for (const Group& group : groups) {
    Nanoseconds median = group.median(time);
    std::vector<std::string> row{group.policy, format_time(median),
                                 fmt::format("x{:.2f}", base / static_cast<double>(median))};
    if (group.runs.size() > 1) {
      auto [least, most] = std::minmax_element(
          group.runs.begin(), group.runs.end(),
          [](const RunResult* a, const RunResult* b) { return a->time < b->time; });
      auto span = static_cast<double>((*most)->time - (*least)->time);
      row.push_back(fmt::format("{:.1f}%", 100 * span / static_cast<double>(median)));
    }
    if (units)
      row.push_back(
          fmt::format("{:.1f}", group.median([](auto& run) { return run.units_per_second(); })));
    if (latencies) {
      row.push_back(format_time(group.median([](auto& run) { return run.latency_p50; })));
      row.push_back(format_time(group.median([](auto& run) { return run.latency_p95; })));
      row.push_back(format_time(group.median([](auto& run) { return run.latency_p99; })));
    }
    row.push_back(fmt::format("{}", group.median([](auto& run) { return run.switches; })));
    row.push_back(fmt::format("{}", group.median([](auto& run) { return run.migrations; })));
    row.push_back(fmt::format("{}", group.median([](auto& run) { return run.cores_used; })));
    row.push_back(fmt::format("{}", group.median([](auto& run) { return run.cores_for_most; })));
    auto busy = static_cast<double>(group.median([](auto& run) { return run.busy; }));
    row.push_back(
        fmt::format("{:.0f}%", 100 * busy / static_cast<double>(median) / machine.n_cores()));
    row.push_back(fmt::format(
        "{:.2f}",
        static_cast<double>(group.median([](auto& run) { return run.energy_millijoules; })) / 1e3));
    rows.push_back(row);
    for (const RunResult* run : group.runs) {
      if (!run->finished)
        troubles += fmt::format("{}, seed {}: {}\n", run->policy, run->seed, run->trouble);
    }
  }
  std::string text = fmt::format("{} on {} ({} cores), governor {}\n\n", comparison.scenario,
                                 comparison.machine, machine.n_cores(), comparison.governor);
  text += laid_out(rows);
  if (machine.control != FrequencyControl::fixed) text += "\n" + frequency_table(groups, machine);
  return troubles.empty() ? text : text + "\n" + troubles;
}

std::string comparison_json(const Comparison& comparison) {
  nlohmann::ordered_json json{{"scenario", comparison.scenario},
                              {"machine", comparison.machine},
                              {"governor", comparison.governor},
                              {"unit", comparison.unit}};
  json["runs"] = nlohmann::ordered_json::array();
  for (const RunResult& run : comparison.runs) {
    nlohmann::ordered_json entry{{"policy", run.policy},
                                 {"seed", run.seed},
                                 {"finished", run.finished},
                                 {"trouble", run.trouble},
                                 {"time_ns", run.time},
                                 {"events", run.events},
                                 {"threads", run.threads},
                                 {"units", run.units},
                                 {"requests", run.requests},
                                 {"latency_ns",
                                  {{"p50", run.latency_p50},
                                   {"p95", run.latency_p95},
                                   {"p99", run.latency_p99},
                                   {"max", run.latency_max}}},
                                 {"switches", run.switches},
                                 {"migrations", run.migrations},
                                 {"cores_used", run.cores_used},
                                 {"cores_for_most", run.cores_for_most},
                                 {"busy_ns", run.busy},
                                 {"memory_controllers_busy_ns", run.controllers_busy},
                                 {"energy_mj", run.energy_millijoules}};
    entry["busy_ns_by_mhz"] = nlohmann::ordered_json::object();
    for (const auto& [mhz, time] : run.by_mhz) entry["busy_ns_by_mhz"][std::to_string(mhz)] = time;
    json["runs"].push_back(entry);
  }
  return json.dump(2) + "\n";
}

}  // namespace roost::sim

// `roost ps`: shows instances, their processes and what their threads do and did.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/error.h"
#include "cli/instance.h"
#include "cli/snapshot.h"
#include "cli/verbs.h"
#include "topo/cpulist.h"

namespace roost::cli {
namespace {

constexpr const char* kPsHelp =
    "Threads by state: RUN has a core; READY waits for one; BLOCK waits for another thread; KERNEL "
    "is\n"
    "in a call that waits, and has given its core back. Counts since the start: GRANTS of a core,\n"
    "SWITCHES between threads on a core, YIELDS that gave a core away, MIGRATIONS to another "
    "core,\n"
    "RESCUES of a core whose thread slept in a way Roost does not see, SHARES of a core whose "
    "thread\n"
    "computed on while others waited for long; grants for which the thread waited AWAKE, in the "
    "kernel's\n"
    "run queue; returns from such calls after which the thread went on BESIDE those that had the "
    "cores.\n"
    "\n"
    "Examples:\n"
    "  roost ps                   what runs under Roost now\n"
    "  roost ps --json | jq .     the same for programs";

struct Report {
  std::vector<InstanceSnapshot> instances;
  std::vector<std::string> stale;                               // no process of theirs lives
  std::vector<std::pair<std::string, std::string>> unreadable;  // name, why
};

Report collect() {
  Report report;
  for (const std::string& path : own_segments()) {
    OpenedInstance opened = open_instance(path, false);
    if (opened.error == -ENOENT) continue;
    if (opened.error) {
      report.unreadable.emplace_back(instance_name(path), instance_error(opened.error));
    } else if (!opened.segment || !segment_in_use(**opened.segment)) {
      report.stale.push_back(instance_name(path));
    } else {
      report.instances.push_back(take_snapshot(**opened.segment));
    }
  }
  return report;
}

nlohmann::ordered_json activity_json(const Activity& activity) {
  nlohmann::ordered_json json;
  for (std::size_t i = 0; i < activity.threads.size(); ++i)
    json["threads"][kThreadStates[i]] = activity.threads[i];
  for (std::size_t i = 0; i < activity.counters.size(); ++i)
    json[kCounterList[i].name] = activity.counters[i];
  return json;
}

nlohmann::ordered_json instance_json(const InstanceSnapshot& instance) {
  nlohmann::ordered_json json{
      {"name", instance.name}, {"policy", instance.policy}, {"pinning", instance.pinning}};
  json["parameters"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : instance.parameters) json["parameters"][name] = value;
  json["cores"] = instance.cpus.count();
  json["cpus"] = format_cpulist(instance.cpus).c_str();
  json["contended_cpus"] = format_cpulist(instance.contended).c_str();
  json["restored"] = instance.leaves_loops;
  json["processes"] = nlohmann::ordered_json::array();
  for (const ProcessSnapshot& process : instance.processes) {
    nlohmann::ordered_json entry{
        {"pid", process.pid}, {"command", process.command}, {"rewritten_loops", process.loops}};
    entry.update(activity_json(process.activity));
    json["processes"].push_back(entry);
  }
  json["total"] = activity_json(instance.total);
  json["reclaimed"] = instance.reclaimed;
  json["unmanaged"] = instance.unmanaged;
  json["last_unmanaged"] = instance.last_unmanaged;
  return json;
}

void print_json(const Report& report) {
  nlohmann::ordered_json json;
  json["instances"] = nlohmann::ordered_json::array();
  for (const InstanceSnapshot& instance : report.instances)
    json["instances"].push_back(instance_json(instance));
  json["stale"] = report.stale;
  json["unreadable"] = nlohmann::ordered_json::array();
  for (const auto& [name, why] : report.unreadable)
    json["unreadable"].push_back({{"name", name}, {"why", why}});
  // A process may have any bytes for a name.
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

template <class... Columns>
void print_columns(const Columns&... columns) {
  fmt::print(
      "  {:>9} {:<15} {:>5} {:>5} {:>5} {:>6} {:>9} {:>9} {:>9} {:>10} {:>7} {:>6} {:>9} {:>9}\n",
      columns...);
}

void print_row(const std::string& pid, const std::string& command, const Activity& activity) {
  const auto& t = activity.threads;
  const auto& c = activity.counters;
  print_columns(pid, command, t[0], t[1], t[2], t[3] + t[4], c[0], c[1], c[2], c[3], c[4], c[5],
                c[6], c[7]);
}

void print_instance(const InstanceSnapshot& instance) {
  std::string parameters;
  for (const auto& [name, value] : instance.parameters) parameters += " " + name + "=" + value;
  fmt::print("instance {}: {} core{} (CPUs {}), pinning {}, policy {}{}\n", instance.name,
             instance.cpus.count(), instance.cpus.count() == 1 ? "" : "s",
             brief_cpulist(instance.cpus).c_str(), instance.pinning, instance.policy, parameters);
  print_columns("PID", "COMMAND", "RUN", "READY", "BLOCK", "KERNEL", "GRANTS", "SWITCHES", "YIELDS",
                "MIGRATIONS", "RESCUES", "SHARES", "AWAKE", "BESIDE");
  for (const ProcessSnapshot& process : instance.processes) {
    print_row(std::to_string(process.pid), process.command, process.activity);
  }
  print_row("", "ever", instance.total);
  if (instance.contended.count()) {
    fmt::print("  CPUs on which other programs run, left to them where possible: {}\n",
               brief_cpulist(instance.contended).c_str());
  }
  if (instance.leaves_loops) fmt::print("  wait loops are not rewritten (roost spin rewrite)\n");
  if (instance.reclaimed)
    fmt::print("  processes that died and were cleaned up after: {}\n", instance.reclaimed);
  if (instance.unmanaged) {
    fmt::print("  programs that ran unmanaged: {}, the last was {}\n", instance.unmanaged,
               instance.last_unmanaged);
  }
}

void print_text(const Report& report) {
  for (const InstanceSnapshot& instance : report.instances) print_instance(instance);
  if (report.instances.empty()) fmt::print("no instance is running\n");
  for (const auto& [name, why] : report.unreadable) fmt::print("instance {}: {}\n", name, why);
  if (!report.stale.empty()) {
    fmt::print("{} left by programs that died; `roost clean` removes what they left\n",
               fmt::join(report.stale, ", "));
  }
}

}  // namespace

Verb add_ps(CLI::App& app) {
  return add_with_json(app, "ps", "Show what runs under Roost, and what its threads do", kPsHelp,
                       [](bool json) {
                         Report report = collect();
                         json ? print_json(report) : print_text(report);
                         return 0;
                       });
}

}  // namespace roost::cli

// `roost doctor`: says whether Roost can work here, and what to do where it cannot.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/checkup.h"
#include "cli/error.h"
#include "cli/verbs.h"

namespace roost::cli {
namespace {

constexpr const char* kDoctorHelp =
    "Each line is ok, warn (Roost works, something could be better) or fail (Roost cannot work);\n"
    "below a line that is not ok stands what to do. Exit status 1 if any line says fail.\n"
    "\n"
    "Examples:\n"
    "  roost doctor                       look at this machine\n"
    "  docker run IMAGE roost doctor      look at what a container permits";

const char* name_of(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::warn:
      return "warn";
    case Level::fail:
      break;
  }
  return "fail";
}

void print_json(const std::vector<Finding>& findings, bool usable) {
  nlohmann::ordered_json json;
  json["usable"] = usable;
  json["checks"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json["checks"].push_back({{"topic", finding.topic},
                              {"level", name_of(finding.level)},
                              {"text", finding.text},
                              {"advice", finding.advice}});
  }
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const std::vector<Finding>& findings, bool usable) {
  for (const Finding& finding : findings) {
    fmt::print("{:<5} {:<13} {}\n", name_of(finding.level), finding.topic, finding.text);
    if (!finding.advice.empty()) fmt::print("{:<19} -> {}\n", "", finding.advice);
  }
  fmt::print("{}\n", usable ? "Roost can work here." : "Roost cannot work here.");
}

int examine(bool json) {
  std::vector<Finding> findings;
  for (auto part : {examine_system, examine_cores, examine_instances}) {
    std::vector<Finding> more = part();
    findings.insert(findings.end(), more.begin(), more.end());
  }
  bool usable = std::none_of(findings.begin(), findings.end(),
                             [](const Finding& finding) { return finding.level == Level::fail; });
  json ? print_json(findings, usable) : print_text(findings, usable);
  return usable ? 0 : kFailed;
}

}  // namespace

Verb add_doctor(CLI::App& app) {
  return add_with_json(app, "doctor", "Check whether Roost can work on this machine", kDoctorHelp,
                       examine);
}

}  // namespace roost::cli

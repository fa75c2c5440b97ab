// `roost policies`: lists policies and their parameters.
#include <fmt/format.h>

#include "cli/error.h"
#include "cli/policy_choice.h"
#include "cli/settings.h"
#include "cli/verbs.h"

namespace roost::cli {
namespace {

constexpr const char* kPoliciesHelp =
    "Plug-ins are the .so files of the folders in ROOST_POLICY_PATH, and of lib/roost/policies.\n"
    "\n"
    "Examples:\n"
    "  roost policies                                list what there is\n"
    "  roost run --policy coop --quantum 5ms CMD     choose one and set a parameter";

void print_parameters(std::span<const PolicyParameter> parameters) {
  for (const PolicyParameter& parameter : parameters) {
    fmt::print("  {:<12} default {}, from {} to {}\n", parameter.name,
               format_parameter(parameter, parameter.standard),
               format_parameter(parameter, parameter.minimum),
               format_parameter(parameter, parameter.maximum));
    fmt::print("  {:<12} {}\n", "", parameter.summary);
  }
}

void print_policy(const Policy& policy, const std::string& remark) {
  fmt::print("{}{}\n  {}\n", policy.name, remark, policy.summary);
  print_parameters({policy.parameters, policy.n_parameters});
}

int print_policies() {
  for (const Policy* const* p = kPolicies; *p; ++p)
    print_policy(**p, p == kPolicies ? " (default)" : "");
  for (const FoundPlugIn& found : find_plug_ins(look_up_own)) {
    if (found.policy) {
      print_policy(*found.policy, fmt::format(" (plug-in {})", found.path));
    } else {
      warn("{}", found.refusal);
    }
  }
  fmt::print("\nof every instance, whatever its policy\n");
  print_parameters(instance_parameters());
  return 0;
}

}  // namespace

Verb add_policies(CLI::App& app) {
  return add_plain(app, "policies", "List the ways of scheduling and their parameters",
                   kPoliciesHelp, print_policies);
}

}  // namespace roost::cli

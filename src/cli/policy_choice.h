// Which policy a user means: one of Roost's own, or a plug-in by its name or path.
#pragma once

#include <string>
#include <vector>

#include "cli/lookup.h"
#include "policy/policy.h"

namespace roost::cli {

// Loads it if it is a plug-in. Ends the command with kWrongUsage if there is none, or none that can
// be used.
const Policy& choose_policy(const std::string& given, const Lookup&);

// The absolute path of a plug-in's file; empty for a policy that is built in.
std::string path_of(const Policy&);

// How other programs are told of it: by that path, or by name.
std::string name_for_others(const Policy&);

// What lies in the folders where plug-ins are looked for by name, in their order.
struct FoundPlugIn {
  std::string path;
  const Policy* policy;  // null if it is refused
  std::string refusal;
};
std::vector<FoundPlugIn> find_plug_ins(const Lookup&);

}  // namespace roost::cli

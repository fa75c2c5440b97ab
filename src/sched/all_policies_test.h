// All policies that the conformance suite runs on: Roost's own, and every plug-in of examples/.
#pragma once

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "sched/policy_file.h"

namespace roost {

inline const Policy& plug_in(const std::string& path) {
  PolicyFileError error;
  const PolicyFile* file = load_policy_file(path.c_str(), {}, error);
  if (!file) throw std::runtime_error(error.c_str());
  return file->plug_in.policy();
}

inline std::vector<std::string> example_plug_ins() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(ROOST_BUILD_FOLDER "/examples/policies"))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::vector<const Policy*> all_policies() {
  std::vector<const Policy*> all;
  for (const Policy* const* policy = kPolicies; *policy; ++policy) all.push_back(*policy);
  for (const std::string& path : example_plug_ins()) all.push_back(&plug_in(path));
  return all;
}

}  // namespace roost

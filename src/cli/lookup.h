// How the command reads environment variables, so that tests can hand it others.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace roost::cli {

// The value of a variable; null if it is not set.
using Lookup = std::function<const char*(const std::string&)>;

inline const char* look_up_own(const std::string& name) { return std::getenv(name.c_str()); }

// A variable to be set.
struct Assignment {
  std::string name;
  std::string value;

  bool operator==(const Assignment&) const = default;
};
using Assignments = std::vector<Assignment>;

}  // namespace roost::cli

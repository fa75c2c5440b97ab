// The table of built-in policies.
#include "policy/policy.h"

#include <cstring>

#include "policy/coop.h"
#include "policy/nest.h"

namespace roost {

const Policy* const kPolicies[] = {&kCoop, &kNest, nullptr};

const Policy* find_policy(const char* name) {
  for (const Policy* const* p = kPolicies; *p; ++p) {
    if (std::strcmp((*p)->name, name) == 0) return *p;
  }
  return nullptr;
}

int find_parameter(const Policy& policy, const char* name) {
  for (unsigned i = 0; i < policy.n_parameters; ++i) {
    if (std::strcmp(policy.parameters[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace roost

// Roost's OpenMP runtime is used where it is asked for, and gives way to what it does not have.
#include "cli/openmp.h"

#include <gtest/gtest.h>

#include <map>

namespace roost::cli {
namespace {

bool wants(const std::optional<std::string>& mode, std::map<std::string, std::string> variables) {
  return wants_own_openmp(mode, [&](const std::string& name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(OpenMp, of_roost_is_the_default) { EXPECT_TRUE(wants({}, {})); }

TEST(OpenMp, of_roost_is_taken_where_it_can_be) {
  EXPECT_TRUE(wants("auto", {}));
  EXPECT_TRUE(wants("auto", {{"OMP_TARGET_OFFLOAD", "default"}}));
}

TEST(OpenMp, of_the_host_is_kept_for_devices) {
  EXPECT_FALSE(wants("auto", {{"OMP_TARGET_OFFLOAD", "MANDATORY"}}));
  EXPECT_TRUE(wants("auto", {{"OMP_TOOL_LIBRARIES", "/tool.so"}}));
}

TEST(OpenMp, is_what_the_user_says) {
  EXPECT_FALSE(wants("host", {}));
  EXPECT_TRUE(wants("roost", {{"OMP_TARGET_OFFLOAD", "MANDATORY"}}));
}

}  // namespace
}  // namespace roost::cli

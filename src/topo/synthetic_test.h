// Synthetic machines for tests.
#pragma once

#include <gtest/gtest.h>

#include "topo/synthetic.h"

namespace roost {

inline Machine synthetic(const char* description) {
  Machine machine;
  ErrorText error;
  EXPECT_EQ(machine_from_synthetic(description, machine, error), 0)
      << description << ": " << error.c_str();
  return machine;
}

}  // namespace roost

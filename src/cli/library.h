// Where libroost.so is.
#pragma once

#include <string>
#include <vector>

#include "cli/lookup.h"

namespace roost::cli {

// The full path of the library: ROOST_LIBRARY, else beside the command in an installation or a
// build tree. Ends the command with kCannotRun if there is none, or if LD_PRELOAD could not name
// it.
std::string find_library(const Lookup&);

// The value for LD_PRELOAD that has the library first and once, and keeps what the user has there.
std::string preload_list(const std::string& library, const char* users);

// What the user has in LD_PRELOAD besides the library.
std::string preload_list_without(const std::string& library, const char* users);

}  // namespace roost::cli

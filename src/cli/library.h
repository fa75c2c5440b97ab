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

// The OpenMP runtime that lies beside the library; ends the command with kCannotRun if it does not.
// Its file has a name that tools which look for OpenMP runtimes by name know (threadpoolctl).
std::string openmp_library(const std::string& library);

// The value for LD_PRELOAD that has our own libraries first and once, in this order, and keeps what
// the user has there.
std::string preload_list(const std::vector<std::string>& own, const char* users);

// What the user has in LD_PRELOAD besides them.
std::string preload_list_without(const std::vector<std::string>& own, const char* users);

}  // namespace roost::cli

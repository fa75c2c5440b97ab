// What kind of program a command is: found or not, and whether Roost can be loaded into it.
#pragma once

#include <string>

#include "cli/lookup.h"

namespace roost::cli {

// The file that execvp would run for `name`; ends the command with 127 or 126, as shells do, and a
// sentence if there is none.
std::string find_program(const std::string& name, const Lookup&);

struct ProgramCheck {
  std::string unmanaged;  // why it will run unmanaged, as in "X is statically linked"; empty if not
  bool may_preload = true;  // false: the program would not even start with the library preloaded
};

// Looks into the file, and through "#!" lines into interpreters; ends the command with 127 if an
// interpreter is missing. A file that cannot be read passes.
ProgramCheck check_program(const std::string& path);

}  // namespace roost::cli

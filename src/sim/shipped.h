// The machines and scenarios that come with the simulator, compiled in (cmake/Simulator.cmake).
#pragma once

#include <string>

namespace roost::sim {

struct ShippedFile {
  const char* name;
  const char* text;  // TOML
};

// Each ended by an entry without a name; sorted by name.
extern const ShippedFile kShippedMachines[];
extern const ShippedFile kShippedScenarios[];

struct TomlFile {
  std::string text;
  std::string name;  // for messages
};

// The file of `shipped` with this name; or the user's, if it has a '/' or ends with .toml.
// InputError, which calls it a `kind`, if there is none.
TomlFile find_toml(const std::string& name, const ShippedFile* shipped, const char* kind);

}  // namespace roost::sim

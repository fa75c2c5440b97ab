// Finds a machine or a scenario: one that comes with the simulator, or the user's own.
#include "sim/shipped.h"

#include <fmt/format.h>

#include "sim/toml_reader.h"

namespace roost::sim {

TomlFile find_toml(const std::string& name, const ShippedFile* shipped, const char* kind) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml"))
    return {read_file(name), name};
  std::string names;
  for (const ShippedFile* file = shipped; file->name; ++file) {
    if (name == file->name) return {file->text, name + ".toml"};
    names += (names.empty() ? "" : ", ") + std::string(file->name);
  }
  throw InputError(
      fmt::format("there is no {} '{}'; there are {}, and files of your own (with a '/' or .toml)",
                  kind, name, names));
}

}  // namespace roost::sim

// The machines and scenarios that come with the simulator, compiled in (cmake/Simulator.cmake).
#pragma once

namespace roost::sim {

struct ShippedFile {
  const char* name;
  const char* text;  // TOML
};

// Each ended by an entry without a name; sorted by name.
extern const ShippedFile kShippedMachines[];
extern const ShippedFile kShippedScenarios[];

}  // namespace roost::sim

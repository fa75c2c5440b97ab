// Where this library's code lies, by the linker.
#pragma once

#include <cstdint>

namespace roost {

extern "C" {
extern char __ehdr_start __attribute__((visibility("hidden")));
extern char etext __attribute__((visibility("hidden")));
}

inline bool is_own_code(std::uint64_t address) {
  return address >= reinterpret_cast<std::uint64_t>(&__ehdr_start) &&
         address < reinterpret_cast<std::uint64_t>(&etext);
}

}  // namespace roost

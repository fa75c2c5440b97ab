// Numbers that look random, made of numbers that do not.
#pragma once

#include <cstdint>

namespace roost {

// SplitMix64 (Steele, Lea and Flood, 2014): how far its states lie apart, and the number that a
// state stands for.
inline constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t mix(std::uint64_t state) {
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  state = (state ^ state >> 27) * 0x94d049bb133111eb;
  return state ^ state >> 31;
}

}  // namespace roost

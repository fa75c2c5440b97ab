// A set of the kernel's CPU numbers, 0 to kMaxCores-1; the bits lie as in the kernel's affinity
// masks.
#pragma once

#include <bit>
#include <cstdint>

namespace roost {

inline constexpr unsigned kMaxCores = 1024;

struct CpuSet {
  std::uint64_t words[kMaxCores / 64] = {};

  // Numbers beyond the end are ignored by all of these: never set, never found.
  constexpr void set(unsigned cpu) {
    if (cpu < kMaxCores) words[cpu / 64] |= 1ull << (cpu % 64);
  }
  constexpr void clear(unsigned cpu) {
    if (cpu < kMaxCores) words[cpu / 64] &= ~(1ull << (cpu % 64));
  }
  constexpr bool test(unsigned cpu) const {
    return cpu < kMaxCores && (words[cpu / 64] >> (cpu % 64) & 1);
  }
  constexpr unsigned count() const {
    int total = 0;
    for (std::uint64_t word : words) total += std::popcount(word);
    return static_cast<unsigned>(total);
  }
  // The smallest member; kMaxCores if the set is empty.
  constexpr unsigned first() const { return from(0); }
  // The smallest member above `cpu`; kMaxCores if there is none.
  constexpr unsigned next(unsigned cpu) const { return from(cpu + 1); }

  constexpr bool operator==(const CpuSet&) const = default;
  constexpr CpuSet& operator&=(const CpuSet& other) {
    for (unsigned i = 0; i < kMaxCores / 64; ++i) words[i] &= other.words[i];
    return *this;
  }
  constexpr CpuSet& operator|=(const CpuSet& other) {
    for (unsigned i = 0; i < kMaxCores / 64; ++i) words[i] |= other.words[i];
    return *this;
  }
  // What this set has and the other has not.
  constexpr CpuSet without(const CpuSet& other) const {
    CpuSet rest = *this;
    for (unsigned i = 0; i < kMaxCores / 64; ++i) rest.words[i] &= ~other.words[i];
    return rest;
  }

 private:
  constexpr unsigned from(unsigned cpu) const {
    if (cpu >= kMaxCores) return kMaxCores;
    std::uint64_t word = words[cpu / 64] & ~0ull << (cpu % 64);
    for (unsigned i = cpu / 64;;) {
      if (word) return i * 64 + static_cast<unsigned>(std::countr_zero(word));
      if (++i == kMaxCores / 64) return kMaxCores;
      word = words[i];
    }
  }
};

}  // namespace roost

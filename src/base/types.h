// The vocabulary every layer shares: index types, sentinels and limits of the segment.
#pragma once

#include <cstdint>

namespace roost {

// Index of a core inside the instance (0 .. n_cores-1), not the kernel's CPU number.
using CoreIndex = std::uint16_t;
// Index of a process slot in the segment.
using ProcessIndex = std::uint16_t;
// Index of a thread record in the segment; kNoThread is none.
using ThreadIndex = std::uint32_t;
// Nanoseconds, CLOCK_MONOTONIC unless said otherwise.
using Nanoseconds = std::uint64_t;

inline constexpr CoreIndex kNoCore = 0xffff;
inline constexpr ProcessIndex kNoProcess = 0xffff;
inline constexpr ThreadIndex kNoThread = 0xffffffff;

inline constexpr unsigned kCacheLine = 64;
// Two lines: adjacent-line prefetch makes 64 bytes too little between writers.
inline constexpr unsigned kCoreStride = 128;

}  // namespace roost

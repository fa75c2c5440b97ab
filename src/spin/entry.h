// Plans how the first instructions of a function can make room for a jump, and be executed
// elsewhere by those who want the function as it was.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost::spin {

struct MovedEntry {
  static constexpr std::size_t kMost = 48;
  unsigned room = 0;              // whole instructions at the function's start: 5 bytes or more
  unsigned size = 0;              // of `code`
  std::uint8_t code[kMost] = {};  // the same, for their new place, then a jump to those behind
};

// `code` holds the function's `size` bytes, at `address`; the copy will be at `place`. False if one
// of the instructions calls or jumps without a condition, if another one jumps between them, or if
// the places are too far apart.
bool move_entry(const std::uint8_t* code, std::size_t size, std::uint64_t address,
                std::uint64_t place, MovedEntry& moved);

// A jump of 5 bytes at `from`. False if it does not reach.
bool encode_jump(std::uint64_t from, std::uint64_t to, std::uint8_t (&bytes)[5]);

}  // namespace roost::spin

// Copies instructions, and what they say by distance for where the copy lies.
#include "spin/entry.h"

#include <string.h>

#include "spin/instruction.h"

namespace roost::spin {
namespace {

constexpr unsigned kJump = 5;

bool fits(std::int64_t value, std::int32_t& narrow) {
  narrow = static_cast<std::int32_t>(value);
  return narrow == value;
}

// A jump of two opcode bytes and four of distance.
unsigned near_condition(const Form& form) {
  bool is_short = form.map == 0 && form.opcode >= 0x70 && form.opcode <= 0x7f;
  bool is_near = form.map == 1 && form.opcode >= 0x80 && form.opcode <= 0x8f;
  return is_short || is_near ? 0x80u | (form.opcode & 0xfu) : 0;
}

// Whether an instruction behind the first `room` bytes jumps into them, but for their start.
bool is_jumped_into(const std::uint8_t* code, std::size_t size, unsigned room) {
  for (std::size_t at = room; at < size;) {
    Form form;
    if (!parse(code + at, size - at, form)) return true;
    at += form.length;
    if (!direct_jump(form)) continue;
    std::int64_t target = static_cast<std::int64_t>(at) + form.immediate;
    if (target > 0 && target < room) return true;
  }
  return false;
}

class Mover {
 public:
  Mover(const std::uint8_t* code, std::size_t size, std::uint64_t address, std::uint64_t place,
        MovedEntry& moved)
      : code_(code), size_(size), address_(address), place_(place), moved_(moved) {
    moved_ = {};
  }

  bool move_one() {
    Form form;
    const std::uint8_t* from = code_ + moved_.room;
    if (!parse(from, size_ - moved_.room, form) || ends_flow(form)) return false;
    constexpr unsigned kLongest = kMaxInstructionBytes + kJump;
    if (moved_.size + kLongest > MovedEntry::kMost) return false;
    std::uint8_t* to = moved_.code + moved_.size;
    unsigned length = form.length;
    std::int64_t behind = std::int64_t{moved_.room} + form.length;
    if (direct_jump(form)) {
      unsigned condition = near_condition(form);
      std::int64_t target = behind + form.immediate;
      if (!condition || (target > 0 && target < kFarthestMoved)) return false;
      to[0] = 0x0f;
      to[1] = static_cast<std::uint8_t>(condition);
      length = 6;
      if (!put_distance(to + 2, address_ + static_cast<std::uint64_t>(target), length))
        return false;
    } else {
      memcpy(to, from, length);
      if (form.memory_form() && form.memory.base == kInstructionPointer) {
        std::uint64_t target =
            address_ + static_cast<std::uint64_t>(behind + form.memory.displacement);
        // The displacement is the last thing but the immediate.
        if (!put_distance(to + length - form.immediate_bytes - form.displacement_bytes, target,
                          length))
          return false;
      }
    }
    moved_.room += form.length;
    moved_.size += length;
    return true;
  }

  bool finish() {
    std::uint8_t back[kJump];
    if (is_jumped_into(code_, size_, moved_.room) ||
        !encode_jump(place_ + moved_.size, address_ + moved_.room, back))
      return false;
    memcpy(moved_.code + moved_.size, back, sizeof back);
    moved_.size += sizeof back;
    return true;
  }

 private:
  // No more bytes than this are moved.
  static constexpr std::int64_t kFarthestMoved = kJump - 1 + kMaxInstructionBytes;

  // How far `target` is from the end of the instruction of `length` bytes that is written next.
  bool put_distance(std::uint8_t* at, std::uint64_t target, unsigned length) {
    std::int32_t distance;
    if (!fits(static_cast<std::int64_t>(target - (place_ + moved_.size + length)), distance))
      return false;
    memcpy(at, &distance, sizeof distance);
    return true;
  }

  const std::uint8_t* code_;
  std::size_t size_;
  std::uint64_t address_, place_;
  MovedEntry& moved_;
};

}  // namespace

bool encode_jump(std::uint64_t from, std::uint64_t to, std::uint8_t (&bytes)[5]) {
  std::int32_t distance;
  if (!fits(static_cast<std::int64_t>(to - from) - kJump, distance)) return false;
  bytes[0] = 0xe9;
  memcpy(bytes + 1, &distance, sizeof distance);
  return true;
}

bool move_entry(const std::uint8_t* code, std::size_t size, std::uint64_t address,
                std::uint64_t place, MovedEntry& moved) {
  Mover mover(code, size, address, place, moved);
  while (moved.room < kJump) {
    if (!mover.move_one()) return false;
  }
  return mover.finish();
}

}  // namespace roost::spin

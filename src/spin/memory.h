// What the instructions of a proof find in memory, and what becomes of what they would write.
#pragma once

#include <cstdint>

#include "base/ticks.h"

namespace roost::spin {

// Reads `width` bytes (1, 2, 4, 8) at `address`. False if they cannot be read.
using ReadMemory = bool (*)(std::uint64_t address, unsigned width, std::uint64_t& value);

// The processor's time-stamp counter, and which processor it was.
struct TimeStamp {
  std::uint64_t ticks;
  std::uint32_t processor;
};

inline bool read_time_stamp(TimeStamp& stamp) {
  if (counter_is_forbidden()) return false;
#if defined(__x86_64__)
  stamp.ticks = __builtin_ia32_rdtscp(&stamp.processor);
  return true;
#else
  static_cast<void>(stamp);
  return false;
#endif
}

// Of a word, the bits of its lowest `width` bytes (1 to 8).
constexpr std::uint64_t low_bytes(unsigned width) { return ~0ull >> (64 - 8 * width); }

class Memory {
 public:
  virtual bool read(std::uint64_t address, unsigned width, std::uint64_t& value) = 0;
  // `was`: null, or what the instruction, a read-modify-write that other cores see as one, has read
  // there. False if it may not be written.
  virtual bool write(std::uint64_t address, unsigned width, std::uint64_t value,
                     const std::uint64_t* was) = 0;
  // False if nothing may depend on it.
  virtual bool time_stamp(TimeStamp&) { return false; }

 protected:
  ~Memory() = default;
};

// Lets pass what leaves memory as it is: a compare-and-exchange that fails, a spill of what was
// spilled before.
class UnchangedMemory final : public Memory {
 public:
  explicit UnchangedMemory(ReadMemory read) : read_(read) {}
  bool read(std::uint64_t address, unsigned width, std::uint64_t& value) override {
    return read_(address, width, value);
  }
  bool write(std::uint64_t address, unsigned width, std::uint64_t value,
             const std::uint64_t*) override {
    std::uint64_t old;
    return read_(address, width, old) && ((old ^ value) & low_bytes(width)) == 0;
  }

 private:
  ReadMemory read_;
};

}  // namespace roost::spin

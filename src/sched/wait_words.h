// The words in memory on which a yielding thread waits, as far as is known (sched/PROTOCOL.md,
// "Waiting in vain").
//
// They lie in the memory of the process, and its threads look at them under the lock of the queue
// in which the thread is. One that was overtaken meanwhile may see those of another wait, or a
// part.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace roost {

struct WaitWords {
  static constexpr unsigned kMax = 4;

  struct Word {
    std::uint64_t address;  // divides by four
    std::uint64_t value;    // that keeps the thread waiting
    bool is_long;           // 8 bytes, not 4
  };

  Word words[kMax];
  unsigned count;
  Nanoseconds patience;  // for so long nothing else will end the wait
};

// `bytes` bytes: 1, 2, 4 or 8.
inline std::uint64_t read_word(std::uint64_t address, unsigned bytes) {
  switch (bytes) {
    case 1:
      return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(address), __ATOMIC_RELAXED);
    case 2:
      return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(address), __ATOMIC_RELAXED);
    case 4:
      return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(address), __ATOMIC_RELAXED);
    default:
      return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(address), __ATOMIC_RELAXED);
  }
}

// By `has_value(address, value)`, of four bytes: a word that is not there any more has changed.
// What to do about it is the waiting thread's affair.
template <class HasValue>
bool all_unchanged(const WaitWords& wait, HasValue&& has_value) {
  for (unsigned i = 0; i < wait.count; ++i) {
    const WaitWords::Word& word = wait.words[i];
    if (!has_value(word.address, static_cast<std::uint32_t>(word.value))) return false;
    if (word.is_long && !has_value(word.address + 4, static_cast<std::uint32_t>(word.value >> 32)))
      return false;
  }
  return true;
}

}  // namespace roost

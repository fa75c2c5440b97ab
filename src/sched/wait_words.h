// The words in memory on which a yielding thread waits, as far as is known (sched/PROTOCOL.md,
// "Waiting in vain").
//
// They lie on the thread's stack while it is READY, and threads of the same process look at them.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace roost {

struct WaitWords {
  static constexpr unsigned kMax = 4;

  struct Word {
    std::uint64_t address;
    std::uint64_t value;  // that keeps the thread waiting
    std::uint8_t bytes;   // 1, 2, 4 or 8
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

inline bool all_unchanged(const WaitWords& wait) {
  for (unsigned i = 0; i < wait.count; ++i) {
    const WaitWords::Word& word = wait.words[i];
    if (read_word(word.address, word.bytes) != word.value) return false;
  }
  return true;
}

}  // namespace roost

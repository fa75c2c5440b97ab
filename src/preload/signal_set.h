// libc's sets of signals as the kernel's, which are one word: the first of libc's. In place of
// calls of libc's that a program may have functions of its own for.
#pragma once

#include <signal.h>
#include <string.h>

#include <cstdint>

#include "os/sys.h"

namespace roost {

inline std::uint64_t word_of(const sigset_t& set) {
  std::uint64_t word;
  memcpy(&word, &set, sizeof word);
  return word;
}
inline void set_word(sigset_t& set, std::uint64_t word) { memcpy(&set, &word, sizeof word); }
inline sigset_t set_of(std::uint64_t word) {
  sigset_t set{};
  set_word(set, word);
  return set;
}

inline bool is_signal(int signal) { return signal >= 1 && signal <= os::kSignals; }

}  // namespace roost

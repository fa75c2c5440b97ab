// What a proof of waiting (spin/) reads, and what it found as the scheduler takes it.
#pragma once

#include "os/sys.h"
#include "sched/wait_words.h"
#include "spin/loads.h"

namespace roost {

// A wait for memory alone ends when the memory changes. Should anything else end it after all, it
// is looked at again after so long.
inline constexpr Nanoseconds kMemoryPatience = 20'000'000;
// One that looks at the clock too wants to sleep or do something else some day.
inline constexpr Nanoseconds kTimedPatience = 1'000'000;

// By the thread that waits. What is not as it was when the proof read it, or lies across four
// bytes' bounds, is a word that has changed at once.
inline WaitWords wait_for(const spin::Loads& loads, Nanoseconds patience) {
  static_assert(spin::Loads::kMax <= WaitWords::kMax);
  WaitWords wait{};
  for (const spin::Load& load : loads) {
    std::uint64_t address = load.address & ~3ull;
    unsigned offset = load.address & 3;
    if (load.width == 8 && offset == 0) {
      wait.words[wait.count++] = {address, load.value, true};
      continue;
    }
    bool whole = offset + load.width <= 4;
    auto around = static_cast<std::uint32_t>(read_word(address, 4));
    std::uint64_t value = around >> (8 * offset) & (~0ull >> (64 - 8 * load.width));
    wait.words[wait.count++] = {address, whole && value == load.value ? around : ~around, false};
  }
  wait.patience = patience;
  return wait;
}

// Reads what may not be there.
inline bool read_carefully(std::uint64_t address, unsigned width, std::uint64_t& value) {
  value = 0;
  return os::read_own_memory(address, &value, width);
}

// Reads what the thread itself is about to read: it may be read as well as by the thread.
inline bool read_directly(std::uint64_t address, unsigned bytes, std::uint64_t& value) {
  value = read_word(address, bytes);
  return true;
}

}  // namespace roost

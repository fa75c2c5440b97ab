// The words that a loop reads, as long as they are few.
#pragma once

#include "spin/execute.h"

namespace roost::spin {

// Different loads, with the values that they found.
class Loads {
 public:
  static constexpr unsigned kMax = 4;

  // Adds a load unless it is there. False if there is no room for it.
  bool note(const Load& load) {
    if (load.width > sizeof load.value) return false;
    for (const Load& other : *this) {
      if (other == load) return true;
    }
    if (count_ == kMax) return false;
    loads_[count_++] = load;
    return true;
  }

  // What an instruction has read, and what it has found there already that it would write.
  bool note(const Effect& effect) {
    return (!effect.loaded || note(effect.load)) && (!effect.stored || note(effect.store));
  }

  unsigned count() const { return count_; }
  const Load& operator[](unsigned i) const { return loads_[i]; }
  const Load* begin() const { return loads_; }
  const Load* end() const { return loads_ + count_; }

 private:
  Load loads_[kMax];
  std::uint8_t count_ = 0;
};

}  // namespace roost::spin

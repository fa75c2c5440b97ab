// Decides whether a thread waits: whether, with memory as it is, it would go on for ever.
//
// The thread's next instructions are executed on a copy of its registers (spin/execute.h). If they
// come back to a state they were in before without having changed memory, then the thread can only
// go on once somebody else writes one of the words it reads: it waits, and a computation, which
// ends, can never look like this. Spin barriers, flags, ticket locks, test-and-set loops that find
// the lock taken, and a scan of slots round and round, all repeat their state; a search, a
// reduction and a counted or timed spin do not within any number of steps.
#pragma once

#include "spin/loads.h"

namespace roost::spin {

// A copy of the code around the thread's instruction pointer. Leaving it ends the proof.
struct CodeWindow {
  std::uint64_t address;
  std::uint32_t size;
  std::uint8_t bytes[512];
};

// Fills the code around `address`; false if it cannot be read.
using ReadCodeWindow = bool (*)(std::uint64_t address, CodeWindow& code);

// A backward jump that a round takes.
struct BackwardBranch {
  std::uint64_t address;
  std::uint64_t target;
  std::uint32_t taken;  // times in a round
  std::uint8_t length;
};

// Those of a round, as long as they are few.
class Branches {
 public:
  void forget() { count_ = 0; }
  // Once more.
  void note(std::uint64_t address, std::uint64_t target, std::uint8_t length) {
    unsigned i = 0;
    while (i < count_ && branches_[i].address != address) ++i;
    if (i == kMax) return;
    if (i == count_) branches_[count_++] = {address, target, 0, length};
    ++branches_[i].taken;
  }
  // That of the outermost loop comes first: it is taken least often.
  void sort() {
    for (unsigned i = 1; i < count_; ++i) {
      for (unsigned j = i; j > 0 && branches_[j].taken < branches_[j - 1].taken; --j) {
        BackwardBranch other = branches_[j];
        branches_[j] = branches_[j - 1];
        branches_[j - 1] = other;
      }
    }
  }

  unsigned count() const { return count_; }
  const BackwardBranch& operator[](unsigned i) const { return branches_[i]; }
  const BackwardBranch* begin() const { return branches_; }
  const BackwardBranch* end() const { return branches_ + count_; }

 private:
  static constexpr unsigned kMax = 8;
  BackwardBranch branches_[kMax];
  std::uint8_t count_ = 0;
};

struct WaitProof {
  bool waits;
  bool all_loads;       // `loads` has every word on which the thread waits
  std::uint32_t steps;  // instructions of one round
  Loads loads;          // with the values that keep it waiting
  Branches branches;    // sorted
};

// At most `max_steps` instructions are executed.
WaitProof prove_wait(const Registers& start, const CodeWindow& code, ReadMemory memory,
                     unsigned max_steps);

}  // namespace roost::spin

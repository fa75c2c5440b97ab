// Instructions by their addresses, for proofs that go through them again and again.
#pragma once

#include "spin/wait_proof.h"

namespace roost::spin {

class CodeCache {
 public:
  explicit CodeCache(ReadCodeWindow read) : read_(read) {}

  // Null if it is not on the list, or cannot be read.
  const Instruction* at(std::uint64_t address) {
    Entry& entry = entries_[address % kEntries];
    if (entry.address == address) return &entry.instruction;
    std::uint64_t offset = address - window_.address;
    if (offset >= window_.size || window_.size - offset < kMaxInstructionBytes) {
      window_.size = 0;
      if (!read_(address, window_)) return nullptr;
      offset = address - window_.address;
    }
    entry.address = 0;
    if (offset >= window_.size ||
        !decode(window_.bytes + offset, window_.size - offset, entry.instruction))
      return nullptr;
    entry.address = address;
    return &entry.instruction;
  }

 private:
  static constexpr unsigned kEntries = 128;
  struct Entry {
    std::uint64_t address = 0;
    Instruction instruction;
  };
  ReadCodeWindow read_;
  CodeWindow window_{};
  Entry entries_[kEntries] = {};
};

}  // namespace roost::spin

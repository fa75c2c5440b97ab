// Follows a thread from its yield to its next, keeping account of what is
// known.
#include "spin/yield_proof.h"

#include "base/ticks.h"
#include "spin/walker.h"

namespace roost::spin {
namespace {

constexpr unsigned kMaxSteps = 24;
// RBX, RSP, RBP, R12-R15: System V AMD64 ABI, figure 3.4.
constexpr std::uint32_t kPreserved = 1u << 3 | 1u << 4 | 1u << 5 | 0xf000;

bool is_read_time_stamp(const std::uint8_t* code, std::size_t size) {
  return size >= 2 && code[0] == 0x0f && code[1] == 0x31;
}

void read_time_stamp(Registers& registers) {
  std::uint64_t now = ticks();
  registers.general[0] = now & 0xffffffff;
  registers.general[2] = now >> 32;
  registers.instruction_pointer += 2;
}

// A word that changes meanwhile, or is read in part and in whole, proves
// nothing.
bool note_load(Loads& loads, const Load& load) {
  for (const Load& other : loads) {
    if (other.address == load.address && other != load) return false;
  }
  return loads.note(load);
}

}  // namespace

YieldProof prove_yield(const Registers& start, const std::uint8_t* code, std::size_t size,
                       std::uint64_t address, ReadMemory memory) {
  YieldProof proof{};
  std::uint64_t call = call_before(code, address, start.instruction_pointer);
  if (call == 0) return proof;
  UnchangedMemory unchanged(memory);
  Registers now = start;
  now.unknown = kFlags;
  RegisterSet known = kPreserved | kAccumulatorBit;
  for (unsigned step = 0; now.instruction_pointer != call; ++step) {
    std::uint64_t offset = now.instruction_pointer - address;
    proof.leaves = offset >= size;
    if (step == kMaxSteps || proof.leaves) return proof;
    if (is_read_time_stamp(code + offset, size - offset)) {
      if (counter_is_forbidden()) return proof;
      read_time_stamp(now);
      known |= kAccumulatorBit | kDataBit;
      proof.looks_at_clock = true;
      continue;
    }
    Instruction instruction;
    if (!decode(code + offset, size - offset, instruction)) return proof;
    if (instruction.is_for_wait_proof() || registers_read(instruction) & ~known) return proof;
    Effect effect{};
    if (!execute(instruction, unchanged, now, effect)) return proof;
    known |= registers_written(instruction);
    if (effect.loaded && !note_load(proof.loads, effect.load)) return proof;
    if (effect.stored && !note_load(proof.loads, effect.store)) return proof;
  }
  for (unsigned r = 0; r < 16; ++r) {
    if ((kPreserved >> r & 1) && now.general[r] != start.general[r]) return proof;
  }
  proof.waits = proof.loads.count() > 0;
  return proof;
}

}  // namespace roost::spin

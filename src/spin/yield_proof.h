// Decides whether a thread that has called sched_yield waits for words in memory.
//
// The instructions after the call are executed on a copy of its registers (spin/execute.h) until
// they come back to the call. If that changes nothing that the next round could see, the rounds go
// on until somebody writes one of the words that were read. Registers that a call need not keep are
// unknown: what depends on one proves nothing.
#pragma once

#include "spin/loads.h"

namespace roost::spin {

struct YieldProof {
  bool waits;
  bool leaves;          // it goes on elsewhere than in these instructions, as far as can be told
  bool looks_at_clock;  // the time stamp counter ends the wait, too
  Loads loads;          // different words, with the values that keep it waiting
};

// `registers` as the call leaves them: RAX its result, the instruction pointer its return address;
// only RAX, RSP and what a function must preserve is looked at. `code` holds the bytes at
// `address`.
YieldProof prove_yield(const Registers& registers, const std::uint8_t* code, std::size_t size,
                       std::uint64_t address, ReadMemory memory);

}  // namespace roost::spin

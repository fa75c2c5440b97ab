// Finds a repeated state by Brent's method, then looks at one round.
#include "spin/wait_proof.h"

#include "spin/walker.h"

namespace roost::spin {
WaitProof prove_wait(const Registers& start, const CodeWindow& code, ReadMemory memory,
                     unsigned max_steps) {
  WaitProof proof{};
  UnchangedMemory unchanged(memory);
  Registers plain = start;
  plain.has_vectors = false;
  Walker walker(plain, code, unchanged);
  Registers seen{};
  Marks marks;
  bool has_seen = false, repeats = false;
  unsigned steps = 0;
  for (; steps < max_steps && !repeats; ++steps) {
    if (!walker.step()) return proof;
    if (!walker.went_back()) continue;
    repeats = has_seen && walker.registers == seen;
    if (!marks.is_due()) continue;
    seen = walker.registers;
    has_seen = true;
  }
  if (!repeats) return proof;
  proof.all_loads = true;
  do {
    if (!walker.step()) return WaitProof{};
    ++proof.steps;
    if (!proof.loads.note(walker.effect)) proof.all_loads = false;
    if (walker.went_back())
      proof.branches.note(walker.from(), walker.registers.instruction_pointer,
                          walker.instruction().length);
    if (proof.steps > max_steps) return WaitProof{};  // memory changed meanwhile
  } while (!(walker.went_back() && walker.registers == seen));
  proof.branches.sort();
  proof.waits = true;
  return proof;
}

}  // namespace roost::spin

// Finds a repeated state by Brent's method, then looks at one round.
#include "spin/wait_proof.h"

#include "spin/walker.h"

namespace roost::spin {
namespace {

void note_branch(WaitProof& proof, const Walker& walker) {
  for (unsigned i = 0; i < proof.n_branches; ++i) {
    if (proof.branches[i].address != walker.from()) continue;
    ++proof.branches[i].taken;
    return;
  }
  if (proof.n_branches == kMaxBranches) return;
  proof.branches[proof.n_branches++] = {walker.from(), walker.registers.instruction_pointer, 1,
                                        walker.length()};
}

// In a loop with loops inside, the branch of the outermost is taken least often.
void sort_branches(WaitProof& proof) {
  for (unsigned i = 1; i < proof.n_branches; ++i) {
    for (unsigned j = i; j > 0 && proof.branches[j].taken < proof.branches[j - 1].taken; --j) {
      BackwardBranch other = proof.branches[j];
      proof.branches[j] = proof.branches[j - 1];
      proof.branches[j - 1] = other;
    }
  }
}

}  // namespace

WaitProof prove_wait(const Registers& start, const CodeWindow& code, ReadMemory memory,
                     unsigned max_steps) {
  WaitProof proof{};
  UnchangedMemory unchanged(memory);
  Registers plain = start;
  plain.has_vectors = false;
  Walker walker(plain, code, unchanged);
  Registers seen{};
  bool has_seen = false;
  unsigned backward = 0, look_again_at = 1;
  bool repeats = false;
  unsigned steps = 0;
  for (; steps < max_steps && !repeats; ++steps) {
    if (!walker.step()) return proof;
    if (!walker.went_back()) continue;
    repeats = has_seen && walker.registers == seen;
    if (++backward == look_again_at) {
      seen = walker.registers;
      has_seen = true;
      look_again_at *= 2;
    }
  }
  if (!repeats) return proof;
  proof.all_loads = true;
  do {
    if (!walker.step()) return WaitProof{};
    ++proof.steps;
    if (!proof.loads.note(walker.effect)) proof.all_loads = false;
    if (walker.went_back()) note_branch(proof, walker);
    if (proof.steps > max_steps) return WaitProof{};  // memory changed meanwhile
  } while (!(walker.went_back() && walker.registers == seen));
  sort_branches(proof);
  proof.waits = true;
  return proof;
}

}  // namespace roost::spin

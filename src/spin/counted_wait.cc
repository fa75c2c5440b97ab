// From yield to yield, then through the rounds between two of them.
#include "spin/counted_wait.h"

#include "spin/walker.h"

namespace roost::spin {
namespace {

using Kind = Operand::Kind;

constexpr unsigned kMaxPath = 32;    // instructions from a yield to the next
constexpr unsigned kMaxRound = 24;   // and of a round
constexpr unsigned kMaxBehind = 16;  // instructions looked at behind the wait
constexpr unsigned kMaxExits = 4;
constexpr std::int32_t kLeastRounds = 512;

// A comparison of a register with a number, before it is made.
struct Comparison {
  Registers registers;
  int counter = kNoRegister;
  std::int64_t bound = 0;
  std::uint64_t count = 0;
};

bool compares(const Instruction& i) {
  return i.operation == Operation::compare && i.destination.kind == Kind::general &&
         i.source.kind == Kind::immediate && i.width >= 4;
}

// Whether it jumps where the count is past the bound, or not yet. One that ends
// where they are equal would go on for ever once the bound has become less than
// the count.
bool looks_past_bound(const Instruction& i) {
  constexpr std::uint32_t kOrders = 0xf0cc;  // below, above and their negations; less, greater ...
  return i.operation == Operation::jump_on_condition && (kOrders >> i.condition & 1);
}

// No calls, and nothing else by which the way to the next yield could be long.
bool plain_step(Walker& walker) {
  return walker.step() && !walker.instruction().is_for_wait_proof();
}

// The code around the walker's next instruction is there.
bool enter(const Walker& walker, ReadCodeWindow read_code, CodeWindow& code) {
  std::uint64_t at = walker.registers.instruction_pointer;
  return at - code.address < code.size - kMaxInstructionBytes || read_code(at, code);
}

// The last comparison on the way to the next yield that a jump depends on.
bool find_last_comparison(const Registers& returned, ReadCodeWindow read_code, ReadMemory memory,
                          CodeWindow& code, Comparison& last, std::uint64_t& call) {
  if (!read_code(returned.instruction_pointer, code)) return false;
  call = call_before(code.bytes, code.address, returned.instruction_pointer);
  UnchangedMemory unchanged(memory);
  Walker walker(returned, code, unchanged);
  Comparison made;
  for (unsigned step = 0; step < kMaxPath; ++step) {
    if (walker.registers.instruction_pointer == call) return last.counter != kNoRegister;
    Comparison before{walker.registers, kNoRegister, 0, 0};
    if (!enter(walker, read_code, code) || !plain_step(walker)) return false;
    const Instruction& i = walker.instruction();
    if (i.operation == Operation::jump_on_condition)
      last = looks_past_bound(i) ? made : Comparison{walker.registers, kNoRegister, 0, 0};
    made = {};
    if (!compares(i)) continue;
    made = before;
    made.counter = i.destination.number;
    made.count = before.registers.general[made.counter];
    made.bound = i.immediate;
  }
  return false;
}

struct Round {
  Loads loads;
  unsigned steps = 0;
  unsigned pauses = 0;
  unsigned comparisons = 0;  // of the counter with the bound
  std::uint64_t comparison = 0;
  Registers at_comparison{};
  std::uint64_t exits[kMaxExits] = {};  // ways out, but for the one at the bound
  unsigned n_exits = 0;
};

// From a loop's head to the next time there. False if there is none.
bool walk_round(Walker& walker, const Comparison& last, Round& round) {
  std::uint64_t head = walker.registers.instruction_pointer;
  bool just_compared = false;
  do {
    Registers before = walker.registers;
    if (++round.steps > kMaxRound || !plain_step(walker)) return false;
    const Instruction& i = walker.instruction();
    if (i.operation == Operation::jump_on_condition && !just_compared) {
      if (round.n_exits == kMaxExits) return false;
      round.exits[round.n_exits++] =
          walker.from() + i.length +
          (walker.effect.jumped ? 0 : static_cast<std::uint64_t>(i.target));
    }
    round.pauses += i.pauses;
    if (!round.loads.note(walker.effect)) return false;
    if (just_compared && !looks_past_bound(i)) return false;
    just_compared =
        compares(i) && i.destination.number == last.counter && i.immediate == last.bound;
    if (!just_compared) continue;
    ++round.comparisons;
    round.comparison = walker.from();
    round.at_comparison = before;
  } while (!walker.went_back() || walker.registers.instruction_pointer != head);
  return round.pauses > 0 && round.loads.count() > 0 && round.comparisons == 1;
}

// Flags aside: who looks at them at a loop's head would show in the round.
bool differ_by_one_in(int counter, Registers before, const Registers& after) {
  before.general[counter] += 1;
  before.flags = after.flags;
  before.unknown = after.unknown;
  return before == after;
}

bool alike(const Round& a, const Round& b) {
  if (a.steps != b.steps || a.loads.count() != b.loads.count()) return false;
  for (unsigned i = 0; i < a.loads.count(); ++i) {
    if (!(a.loads[i] == b.loads[i])) return false;
  }
  return true;
}

// Whether the thread yields as soon as the count is past the bound, and nothing
// else happens.
bool ends_in_yield(const Round& round, const Comparison& last, std::uint64_t call,
                   ReadCodeWindow read_code, ReadMemory memory, CodeWindow& code) {
  Registers past = round.at_comparison;
  past.general[last.counter] = last.count;  // as it was, and so was saved around the yield
  UnchangedMemory unchanged(memory);
  Walker walker(past, code, unchanged);
  for (unsigned step = 0; walker.registers.instruction_pointer != call; ++step) {
    if (step == kMaxRound || !enter(walker, read_code, code) || !plain_step(walker)) return false;
  }
  return true;
}

// Whether code from `at` on looks at the register before it is set, as far as
// that is seen without following calls and branches.
bool is_read_behind(std::uint64_t at, int counter, ReadCodeWindow read_code) {
  CodeWindow code;
  if (!read_code(at, code)) return true;
  for (unsigned n = 0; n < kMaxBehind; ++n) {
    Instruction i;
    std::uint64_t offset = at - code.address;
    if (offset >= code.size || !decode(code.bytes + offset, code.size - offset, i) ||
        i.is_for_wait_proof())
      return false;
    if (!clears_register(i) && registers_read(i) >> counter & 1) return true;
    if (i.width >= 4 && registers_written(i) >> counter & 1) return false;
    at += i.length;
    if (i.operation == Operation::jump) at += static_cast<std::uint64_t>(i.target);
  }
  return false;
}

bool is_read_behind(const Round& round, int counter, ReadCodeWindow read_code) {
  for (unsigned i = 0; i < round.n_exits; ++i) {
    if (is_read_behind(round.exits[i], counter, read_code)) return true;
  }
  return false;
}

// Where the number lies that ends the instruction.
bool find_bound(const CodeWindow& code, std::uint64_t comparison, CountedWait& wait) {
  std::uint64_t offset = comparison - code.address;
  Form form;
  if (!parse(code.bytes + offset, code.size - offset, form) || form.immediate_bytes != 4)
    return false;
  wait.comparison = comparison;
  wait.bound = comparison + form.length - form.immediate_bytes;
  wait.rounds = static_cast<std::int32_t>(form.immediate);
  return true;
}

}  // namespace

bool find_counted_wait(const Registers& returned, ReadCodeWindow read_code, ReadMemory memory,
                       CountedWait& wait) {
  CodeWindow code;
  Comparison last;
  std::uint64_t call;
  if (!find_last_comparison(returned, read_code, memory, code, last, call)) return false;
  if (last.bound < kLeastRounds || last.bound > INT32_MAX) return false;
  last.registers.general[last.counter] = static_cast<std::uint64_t>(last.bound / 2);
  if (!read_code(last.registers.instruction_pointer, code)) return false;
  UnchangedMemory unchanged(memory);
  Walker walker(last.registers, code, unchanged);
  for (unsigned steps = 0; !walker.went_back();) {
    if (++steps > kMaxRound || !plain_step(walker)) return false;
  }
  Round first, second;
  Registers before = walker.registers;
  if (!walk_round(walker, last, first) ||
      !differ_by_one_in(last.counter, before, walker.registers)) {
    return false;
  }
  before = walker.registers;
  if (!walk_round(walker, last, second) ||
      !differ_by_one_in(last.counter, before, walker.registers) || !alike(first, second)) {
    return false;
  }
  if (!find_bound(code, first.comparison, wait)) return false;
  return ends_in_yield(second, last, call, read_code, memory, code) &&
         !is_read_behind(second, last.counter, read_code);
}

}  // namespace roost::spin

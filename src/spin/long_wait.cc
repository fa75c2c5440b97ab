// Finds a repeated state by Brent's method, then what the round does, then where it rests.
#include "spin/long_wait.h"

#include <cerrno>

#include "spin/code_cache.h"
#include "spin/go_on.h"
#include "spin/rounding.h"
#include "spin/walker.h"

namespace roost::spin {
namespace {

constexpr unsigned kMaxCounters = 4;

// A thread on its way, with the memory that it would leave.
class LongWalk : public BasicWalker<CodeCache> {
 public:
  LongWalk(const Registers& start, const Reader& reader)
      : BasicWalker(start, reader.code, memory), memory(reader.bytes) {}

  bool step() {
    RegisterSet in = 0;
    if (!fetch()) return false;
    if (follows_ && !finds_way(in)) follows_ = false;
    if (!execute_fetched()) return false;
    if (follows_) pass_on(in);
    return true;
  }
  bool came_to_system_call() const {
    return instruction_ && instruction_->operation == Operation::system_call;
  }
  std::uint64_t stack() const { return registers.general[kStackPointer]; }

  // From now on, what depends on these registers, and on the memory's counters, is followed, until
  // the thread's way depends on it.
  void follow(RegisterSet counters) {
    depends_ = counters;
    follows_ = true;
    is_bounded_ = false;
  }
  bool follows() const { return follows_; }
  void stop_following() { follows_ = false; }
  // Where the thread goes may depend on counters, but for what it then accesses: a bound ends it.
  void allow_bounds() { allows_bounds_ = true; }
  // Whether it has, since follow().
  bool is_bounded() const { return is_bounded_; }
  // The registers that depend on counters.
  RegisterSet depends() const { return depends_; }

  ShadowMemory memory;

 private:
  bool accesses_memory() const {
    const Instruction& i = *instruction_;
    return i.operation != Operation::load_address &&
           (i.source.kind == Operand::Kind::memory || i.destination.kind == Operand::Kind::memory);
  }

  // What the next instruction reads of what is followed. False if it decides by that where the
  // thread goes on, whether it writes, or what it accesses.
  bool finds_way(RegisterSet& in) {
    const Instruction& i = *instruction_;
    in = depends_ & registers_read(i);
    if (i.reads_flags()) in |= depends_ & kFlagsBit;
    RegisterSet addresses = accesses_memory() ? bit(i.memory.base) | bit(i.memory.index) : 0;
    if (depends_ & (addresses | kStackPointerBit)) return false;
    if (accesses_memory()) {
      std::uint64_t at = address_of(i.memory, registers, registers.instruction_pointer + i.length);
      if (memory.depends(at, i.bytes_in_memory())) in |= kFlagsBit;
    }
    if (i.operation == Operation::pop || i.operation == Operation::return_from_call) {
      if (memory.depends(stack(), 8)) in |= kFlagsBit;
    }
    if (i.operation == Operation::leave &&
        ((depends_ & kFramePointerBit) || memory.depends(registers.general[kFramePointer], 8)))
      return false;
    if (allows_bounds_ && i.operation == Operation::jump_on_condition) {
      is_bounded_ |= in != 0;
      return true;
    }
    bool decides = i.jumps() || i.divides() || i.operation == Operation::call ||
                   i.operation == Operation::jump_indirect ||
                   i.operation == Operation::return_from_call ||
                   i.operation == Operation::compare_exchange ||
                   (i.operation >= Operation::lowest_bit && i.operation <= Operation::highest_bit);
    return !decides || in == 0;
  }

  // What it has written depends on what it has read.
  void pass_on(RegisterSet in) {
    const Instruction& i = *instruction_;
    bool depends = in != 0 && !clears_register(i);
    RegisterSet written = registers_written(i);
    if (i.uses_stack()) written &= ~kStackPointerBit;
    if (i.sets_flags() && (depends || !i.keeps_flags())) written |= kFlagsBit;
    // Of a narrow result, the rest of the register is as it was; registers_read() has it.
    depends_ = depends ? depends_ | written : depends_ & ~written;
    if (effect.stored) memory.set_depends(effect.store.address, effect.store.width, depends);
  }

  RegisterSet depends_ = 0;
  bool follows_ = false, allows_bounds_ = false, is_bounded_ = false;
};

// The registers and flags in which two states differ, a bit each.
RegisterSet difference(const Registers& a, const Registers& b) {
  RegisterSet registers = 0;
  for (int r = 0; r < 16; ++r) {
    if (a.general[r] != b.general[r]) registers |= bit(r);
    if (a.vectors[r] != b.vectors[r]) registers |= vector_bit(static_cast<unsigned>(r));
  }
  if (a.flags != b.flags || a.unknown != b.unknown) registers |= kFlagsBit;
  return registers;
}

// Which counters were tried from one mark. Where the thread's way has depended on some, as on those
// of an inner loop, it does on these and more.
class Attempts {
 public:
  // After the last attempt, if there was one, has failed.
  bool may_try(RegisterSet registers) const {
    return number_ < kMost && (failing_ == 0 || (registers & failing_) != failing_);
  }
  void tried(RegisterSet registers, unsigned words) {
    ++number_;
    failing_ = words == 0 ? registers : 0;
  }

 private:
  static constexpr unsigned kMost = 64;
  unsigned number_ = 0;
  RegisterSet failing_ = 0;
};

// Where the thread may rest: so many steps from where it is.
struct Place {
  std::int32_t steps;
  std::uint64_t address;
};

// Some of those that there are.
class Places {
 public:
  void add(const Place& place, std::uint32_t choice) {
    if (count_ < kMax) {
      places_[count_++] = place;
    } else {
      places_[(choice + static_cast<std::uint32_t>(place.steps)) % kMax] = place;
    }
  }
  void forget_after(std::int32_t steps) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i)
      if (places_[i].steps <= steps) places_[kept++] = places_[i];
    count_ = kept;
  }
  unsigned count() const { return count_; }
  const Place& any(std::uint32_t choice) const {
    return places_[(choice * 2654435761u >> 16) % count_];
  }

 private:
  static constexpr unsigned kMax = 32;
  Place places_[kMax];
  unsigned count_ = 0;
};

// Of one round: what it takes to tell where it rests.
struct Round {
  std::uint32_t steps = 0, pauses = 0;
  std::uint64_t highest_stack = 0, lowest_stack = ~0ull;
  bool uses_stack = false;
  Branches branches;  // those that it takes where its stack is highest

  // After a step.
  void note(const LongWalk& walk) {
    if (walk.stack() > highest_stack) {
      highest_stack = walk.stack();
      branches.forget();
    }
    if (walk.went_back() && walk.stack() == highest_stack)
      branches.note(walk.from(), walk.registers.instruction_pointer, walk.instruction().length);
  }
};

class Prover {
 public:
  Prover(const Registers& start, const Reader& reader, unsigned max_steps, ProofLimit& limit)
      : start_(start), max_steps_(max_steps), limit_(limit), walk_(start, reader) {}

  LongWait prove(std::uint32_t choice) {
    LongWait result{};
    if (!find_repeated_state() || !look_at_round(result) || !find_rest(choice, result))
      return LongWait{};
    result.waits = true;
    return result;
  }
  // At first, so many instructions tell which loop is the outermost. 0: any will do.
  LongSpin prove_spin(bool may_be_bounded, unsigned steps) {
    if (may_be_bounded) walk_.allow_bounds();
    LongSpin result{};
    if (!find_outermost_loop(steps) || !find_repeated_state() || !look_at_round(result)) return {};
    result.is_bounded = is_bounded_ || result.looks_at_clock;
    result.waits =
        result.is_bounded ? round_.pauses > 0 && looks_at_others_ : result.loads.count() > 0;
    result.writes = excuse_own_writes();
    if (result.is_bounded || result.writes != Writes::nothing) result.all_loads = false;
    if (round_.branches.count() > 0) result.loop = round_.branches[0].address;
    return result;
  }
  bool came_to_system_call() const { return walk_.came_to_system_call(); }
  bool has_paused() const { return has_paused_; }

 private:
  bool ran_out() {
    limit_.ran_out = true;
    return false;
  }
  bool step() {
    constexpr unsigned kBetweenLooks = 256;
    if (steps_++ >= 16 * max_steps_) return ran_out();
    if (steps_ % kBetweenLooks == 0 && limit_.time_is_over()) return false;
    if (!walk_.step()) return false;
    has_paused_ |= walk_.instruction().pauses;
    return true;
  }

  bool at_mark() const {
    return walk_.went_back() &&
           walk_.registers.instruction_pointer == marked_.instruction_pointer &&
           walk_.stack() == marked_.general[kStackPointer];
  }
  // Back at the mark, but for counters.
  bool is_repeated() const {
    return at_mark() && (difference(walk_.registers, marked_) & ~counters_) == 0 &&
           walk_.memory.different() == 0;
  }

  bool find_outermost_loop(unsigned steps);
  bool find_repeated_state();
  bool look_at_round(LongRound& result);
  Writes excuse_own_writes();
  void note_load(LongRound& result);
  std::uint64_t end_of_own(std::uint64_t stack) const;
  bool go_to_head();
  bool find_rest(std::uint32_t choice, LongWait& result);
  bool is_private_at_rest();
  bool choose_rest(std::uint32_t choice, bool reread, LongWait& result);
  bool is_at_rest() const {
    return walk_.stack() == round_.highest_stack && walk_.memory.different() == 0;
  }

  const Registers start_;
  const unsigned max_steps_;
  ProofLimit& limit_;
  unsigned steps_ = 0;
  LongWalk walk_;
  Registers marked_{};
  RegisterSet counters_ = 0;  // registers
  bool is_bounded_ = false, has_paused_ = false, looks_at_others_ = false;
  std::uint64_t outermost_ = 0;  // of a spin, the branch by which rounds are told; 0: any
  Round round_;
};

// Where an inner loop would be found repeated, but for its counter, before it comes to an end.
bool Prover::find_outermost_loop(unsigned steps) {
  Round rounds;
  while (steps_ < steps) {
    if (!step()) return false;
    rounds.note(walk_);
  }
  rounds.branches.sort();
  for (const BackwardBranch& branch : rounds.branches) {
    if (branch.taken == 1) continue;  // on the way to the loop, perhaps
    outermost_ = branch.address;
    break;
  }
  return true;
}

bool Prover::find_repeated_state() {
  bool has_mark = false;
  Marks marks;
  Attempts attempts;
  while (steps_ < max_steps_) {
    if (!step()) return false;
    if (!walk_.went_back() || (outermost_ && walk_.from() != outermost_)) continue;
    if (has_mark && at_mark()) {
      RegisterSet registers = difference(walk_.registers, marked_);
      unsigned words = walk_.memory.different();
      if (registers == 0 && words == 0) {
        walk_.stop_following();
        counters_ = 0;
        return true;
      }
      bool more = walk_.follows();
      if (more && ((registers & ~counters_) || !walk_.memory.only_counters_differ())) continue;
      if (more && !(walk_.depends() & ~counters_) && walk_.memory.only_counters_depend()) {
        is_bounded_ = walk_.is_bounded();
        walk_.stop_following();
        walk_.memory.excuse_counters();
        return true;
      }
      if (more || attempts.may_try(registers)) {
        counters_ = more ? counters_ | walk_.depends() : registers;
        words = walk_.memory.take_for_counters(more);
        if (static_cast<unsigned>(__builtin_popcountll(counters_)) + words <= kMaxCounters) {
          walk_.follow(counters_);
          attempts.tried(counters_, words);
          continue;
        }
        walk_.stop_following();
      }
    }
    if (!marks.is_due(!walk_.follows())) continue;
    marked_ = walk_.registers;
    walk_.memory.mark();
    has_mark = true;
    attempts = {};
  }
  return ran_out();
}

bool Prover::look_at_round(LongRound& result) {
  result.all_loads = true;
  round_.highest_stack = walk_.stack();
  do {
    if (!step()) return false;
    ++round_.steps;
    round_.pauses += walk_.instruction().pauses;
    round_.note(walk_);
    if (walk_.stack() < round_.lowest_stack) round_.lowest_stack = walk_.stack();
    round_.uses_stack |= walk_.instruction().uses_stack();
    result.looks_at_clock |= walk_.instruction().looks_at_clock();
    note_load(result);
  } while (!is_repeated());
  round_.branches.sort();
  return true;
}

// What the round writes itself tells of nobody else.
void Prover::note_load(LongRound& result) {
  const Effect& effect = walk_.effect;
  std::uint64_t at = effect.load.address;
  if (!effect.loaded || walk_.memory.was_written(at, effect.load.width)) return;
  bool is_own = at >= walk_.stack() - kRedZone && at < end_of_own(walk_.stack());
  looks_at_others_ |= !is_own && !ShadowMemory::is_clock_data(at);
  if (!result.loads.note(effect.load)) result.all_loads = false;
}

bool Prover::go_to_head() {
  if (round_.branches.count() == 0) return false;
  std::uint64_t branch = round_.branches[0].address;
  for (std::uint32_t n = 0; n <= round_.steps; ++n) {
    if (!step()) return false;
    if (walk_.went_back() && walk_.from() == branch && walk_.stack() == round_.highest_stack)
      return true;
  }
  return false;
}

// Where what is the thread's alone may end: its stack, and its thread-local variables, which may
// lie behind that.
std::uint64_t Prover::end_of_own(std::uint64_t stack) const {
  constexpr std::uint64_t kNear = 64 * 1024;
  std::uint64_t near = kNear, thread = start_.thread;
  if (thread > stack && (thread - stack) / 4 < near) near = (thread - stack) / 4;
  return stack + near;
}

// The thread's own words, of those that it has written, do not count from now on. Whose they are.
Writes Prover::excuse_own_writes() {
  // Where calls of the round have been, nobody looks again; but who calls nobody may use what lies
  // below the stack pointer.
  std::uint64_t low = round_.lowest_stack - kRedZone, high = round_.highest_stack;
  std::uint64_t left = high - (round_.uses_stack ? 0 : kRedZone), end = end_of_own(high);
  auto is_left = [&](std::uint64_t at, bool) { return at >= low && at < left; };
  if (walk_.memory.excuse(is_left) == 0) return Writes::nothing;
  auto is_own = [&](std::uint64_t at, bool) { return at >= low && at < end; };
  bool is_own_only = walk_.memory.excuse(is_own) == 0;
  return is_own_only && !walk_.memory.has_counters() ? Writes::own_stack : Writes::others;
}

bool Prover::find_rest(std::uint32_t choice, LongWait& result) {
  if (!go_to_head()) return false;
  walk_.memory.mark();
  if (excuse_own_writes() != Writes::nothing) result.all_loads = false;
  // Whoever lets siblings go on keeps the thread's errno for it.
  walk_.memory.excuse_bytes(reinterpret_cast<std::uint64_t>(&errno), sizeof errno);
  if (!is_private_at_rest()) return false;
  walk_.memory.prefer_zero();
  if (choose_rest(choice, true, result)) return true;
  walk_.memory.excuse([](std::uint64_t, bool locked) { return locked; });
  if (choose_rest(choice, true, result) || choose_rest(choice, false, result)) return true;
  // No place has all these words at rest, if 0 is that.
  if (!go_to_head()) return false;
  walk_.memory.mark();
  return choose_rest(choice, false, result);
}

// In the next round no word is changed outside of its calls that only the thread might know.
// Whether such a word says then that the thread is inside something, or that it is not, cannot be
// told: of what calls do, as taking a lock, the outcome is known to be 0 at rest, mostly.
bool Prover::is_private_at_rest() {
  for (std::uint32_t n = 0; n < round_.steps; ++n) {
    walk_.memory.watch(walk_.stack() == round_.highest_stack);
    if (!step()) return false;
  }
  walk_.memory.watch(false);
  return !walk_.memory.seen_change();
}

// One of the places where memory is as marked, on the thread's way through two rounds. `reread`:
// where it has no such word in a register either, but reads it again before it writes it.
bool Prover::choose_rest(std::uint32_t choice, bool reread, LongWait& result) {
  walk_.registers = start_;
  walk_.memory.restore();
  Places places;
  auto rounds = static_cast<std::int32_t>(round_.steps);
  for (std::int32_t n = 0; n < 3 * rounds; ++n) {
    if (n < 2 * rounds && is_at_rest())
      places.add({n, walk_.registers.instruction_pointer}, choice);
    if (result.all_loads && places.count() > 0) break;  // it writes nothing: any will do
    walk_.memory.count_steps(n);
    if (!step()) return false;
    if (reread) places.forget_after(walk_.memory.stale_since());
  }
  if (places.count() == 0) return false;
  const Place& place = places.any(choice);
  result.steps_to_rest = static_cast<std::uint32_t>(place.steps);
  result.rest_address = place.address;
  result.rest_stack = round_.highest_stack;
  return true;
}

template <class Prove>
auto try_some_times(const Registers& start, const Reader& reader, unsigned max_steps,
                    ProofLimit& limit, Prove prove) {
  // Another may have had a lock for a moment, and the thread would wait for it in the kernel.
  constexpr unsigned kTries = 8;
  Rounding rounding(start);
  for (unsigned i = 1;; ++i) {
    limit.ran_out = false;
    Prover prover(start, reader, max_steps, limit);
    auto wait = prove(prover);
    if (wait.waits || i == kTries || !prover.came_to_system_call() || limit.time_is_over())
      return wait;
  }
}

}  // namespace

LongWait prove_long_wait(const Registers& start, const Reader& reader, ProofLimit& limit,
                         std::uint32_t choice) {
  return try_some_times(start, reader, limit.steps, limit,
                        [&](Prover& p) { return p.prove(choice); });
}

LongSpin prove_long_spin(const Registers& start, const Reader& reader, ProofLimit& limit) {
  struct Pass {
    unsigned max_steps;
    bool may_be_bounded;
    unsigned steps;  // to find the outermost loop
  };
  // Inner loops are often the wait, and often a delay that looks at nothing.
  const unsigned most = limit.steps;
  const Pass passes[] = {{most / 8, false, 0},
                         {most, true, 0},
                         {most, true, 256},
                         {most, true, most / 2},
                         {most, false, 0}};
  bool has_paused = false;
  LongSpin spin{};
  for (const Pass& pass : passes) {
    if (pass.may_be_bounded && !has_paused) continue;
    spin = try_some_times(start, reader, pass.max_steps, limit, [&](Prover& prover) {
      LongSpin found = prover.prove_spin(pass.may_be_bounded, pass.steps);
      has_paused |= prover.has_paused();
      return found;
    });
    if (spin.waits || limit.time_is_over()) break;
  }
  spin.pauses = has_paused;
  return spin;
}

bool go_to_rest(Registers& registers, ReadCodeWindow code, const LongWait& wait) {
  return go_on_for(registers, code, wait.steps_to_rest) &&
         registers.instruction_pointer == wait.rest_address &&
         registers.general[kStackPointer] == wait.rest_stack;
}

}  // namespace roost::spin

// Decides whether a thread waits whose rounds are more than a look at memory: they call functions,
// take a lock and give it back, keep account of themselves, or look at the clock.
//
// As in spin/wait_proof.h the thread's next instructions are executed on a copy of its registers,
// but what they write is kept beside memory (spin/shadow_memory.h), and time stands still. Such a
// thread waits if registers and memory come back to what they were. They may differ in a few
// counters, if nothing depends on these that decides where the thread goes or what it accesses:
// then the next rounds are like this one whatever they count.
//
// In the midst of a round the thread may hold a lock, or have told a library's thread-local
// variables so: another that goes on in its place, with the same variables, must find them at rest.
// They are where no call of the round is under way. If the round changes words there itself, other
// than counters, locks and what is on its stack, nothing says which of their values is rest, and
// the thread is not found waiting. What its calls and the instructions that other cores see as one
// change, as a lock, is to be 0, if the round ever makes it so, or else as at the head of the
// outermost loop; and what may be in registers is to be read again before it is written. Where
// there is no such place, a lock may have any value, as others could find it.
#pragma once

#include "spin/proof_budget.h"
#include "spin/shadow_memory.h"
#include "spin/wait_proof.h"

namespace roost::spin {

// How a proof reads what may not be there.
struct Reader {
  ReadCodeWindow code;
  ReadBytes bytes;
};

// What is known of a wait.
struct LongRound {
  bool waits;
  bool looks_at_clock;  // the time stamp counter ends the wait, too
  bool all_loads;       // `loads` has every word on which it waits, and it writes none for others
  Loads loads;
};

struct LongWait : LongRound {
  // So many instructions from now the thread is at rest: at this instruction, with this stack
  // pointer.
  std::uint32_t steps_to_rest;
  std::uint64_t rest_address, rest_stack;
};

// Where a round writes, but for what its calls leave below their callers. A count that goes on is
// for others, wherever it is.
enum class Writes : std::uint8_t { nothing, own_stack, others };

struct LongSpin : LongRound {
  bool is_bounded;  // ends by itself, after some time or number of rounds
  bool pauses;      // there was a `pause` on the way, whether it waits or not
  Writes writes;
  std::uint64_t loop;  // the branch of its outermost loop
};

// At most some `limit.steps` instructions are executed, a few times. `choice`: any number; it
// decides where the thread is to rest, if there are several places: at the next ones where it is
// the same, it might come to hold the same lock each time. Needs 40 KiB of stack.
LongWait prove_long_wait(const Registers& start, const Reader& reader, ProofLimit& limit,
                         std::uint32_t choice);

// The same of a thread whose siblings have threads of their own: where it rests is not asked. Nor
// that it waits for ever: it may do so for a time or a number of rounds, if these pause and look at
// something that others may write, as a worker that looks for work a million times before it
// sleeps. For one that pauses it takes up to four times as long.
LongSpin prove_long_spin(const Registers& start, const Reader& reader, ProofLimit& limit);

// Goes on in the thread's place (spin/go_on.h) to where it is at rest. False if it waits no longer,
// or has not come there; `registers` are the thread's all the same.
bool go_to_rest(Registers& registers, ReadCodeWindow code, const LongWait& wait);

}  // namespace roost::spin

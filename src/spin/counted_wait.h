// Finds the wait that ends in a yield: a loop that looks at words in memory, pauses, and counts how
// often it has; once that was often enough, it yields and goes on looking (MKL's barriers: 5000
// times, 70 to 200 us).
//
// From the yield's return the thread is followed to its next yield, as in spin/yield_proof.h, and
// from the comparison that led it there once more, with a smaller count: the rounds that follow
// must be alike but for that count, store nothing, and have a `pause` each, which no computation
// has; past the bound nothing but the yield may follow, and behind the wait the count must not be
// looked at. So how many rounds there are matters to nobody.
#pragma once

#include "spin/wait_proof.h"

namespace roost::spin {

// Its rounds end once the count is past this number, which the code has.
struct CountedWait {
  std::uint64_t comparison;  // the instruction's address
  std::uint64_t bound;       // the number's
  std::int32_t rounds;
};

// `returned`: the registers as sched_yield leaves them: RAX its result, the instruction pointer its
// return address, what a function need not preserve 0. False if there is no such wait, or it is
// over.
bool find_counted_wait(const Registers& returned, ReadCodeWindow read_code, ReadMemory memory,
                       CountedWait& wait);

}  // namespace roost::spin

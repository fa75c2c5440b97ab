// Whether a call's results stay the same, to the last bit, if it is cut into fewer pieces.
//
// They do if every element is computed by the same operations in the same order. That is nearly so
// by how OpenBLAS cuts; but its kernels have other code for what is left at a piece's edges, which
// may round otherwise. Where they do differs by routine, type, processor, version and sizes, so it
// is tried: the same call with numbers of our own, both ways. Some tens of thousands of sums, each
// of which would show another order in about every other case, are enough to tell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "blas/cut.h"

namespace roost::blas {

// Has the pieces done, and waits for all. False if it cannot.
struct Runner {
  bool (*run)(void* context, Piece* pieces, unsigned n);
  void* context;
};

// Does the call twice, with numbers of its own and no more than kDepth of depth, in all its pieces
// and in `fewer`. False also if there is no memory for that. The pieces and arguments are as they
// were afterwards. The caller's thread alone; takes as long as two such calls at most.
inline constexpr long kDepth = 192;
bool same_results(const Cut& cut, Piece* pieces, unsigned fewer, Runner runner);

// What trials have said, by Cut::key(). Any thread. Keeps some hundred; what is not asked for
// again gives way.
class Verdicts {
 public:
  enum class Answer { not_yet, try_now, same, differs };
  // try_now: to one caller, who is to note() the outcome; not before a call has been seen 8 to 12
  // times, for the sake of programs that make each call once. Not all of a program's calls after
  // the same number of times: one that serves requests would try all in one request.
  Answer ask(std::uint64_t key);
  void note(std::uint64_t key, bool same);

 private:
  // A word: the key, and in its last four bits how often it was seen, or one of these.
  static constexpr std::uint64_t kOnTrial = 13, kDiffers = 14, kSame = 15;
  static constexpr std::uint64_t seen_enough(std::uint64_t key) { return 8 + key % 5; }
  static constexpr std::uint64_t kState = 15;
  static constexpr unsigned kWays = 4, kSets = 128;
  std::atomic<std::uint64_t>* set_of(std::uint64_t key) { return words_[key % kSets]; }

  std::atomic<std::uint64_t> words_[kSets][kWays] = {};
};

}  // namespace roost::blas

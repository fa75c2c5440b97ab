// Whether a call's results stay the same, to the last bit, if it is cut into fewer pieces.
//
// They do if every element is computed by the same operations in the same order. That is nearly so
// by how OpenBLAS cuts; but its kernels have other code for what is left at a piece's edges, which
// may round otherwise. Where they do differs by routine, type, processor, version and sizes, so it
// is tried: the same call with numbers of our own, both ways.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "blas/cut.h"

namespace roost::blas {

// What a trial is to tell.
enum class Question {
  same,         // whether results are the same to the last bit
  same_faster,  // and whether fewer pieces take less time
  right,  // whether they are right, whatever the order of sums: with numbers for which all are
          // exact
};

// Has the pieces done, and waits for all. False if it cannot.
struct Runner {
  bool (*run)(void* context, Piece* pieces, unsigned n);
  void* context;
};

enum class Outcome { same, differs, no_gain, unknown };

// The matrices of a trial: memory of our own. What suffices for most calls is kept for the next
// trial, as new pages cost as much as the trial's two calls. One trial at a time.
class Scratch {
 public:
  // What was in it before may still be there. Null: there is no more memory.
  char* take(std::size_t bytes);
  // Pages of which there are many.
  void give_back();

 private:
  static constexpr std::size_t kKept = std::size_t{4} << 20;
  char* memory_ = nullptr;  // null whenever it is not all there: a fork may come between
  std::size_t bytes_ = 0;
};

// Does the call twice, in all its pieces and in `fewer`, with a few sets of numbers of its own (one
// if they are exact) that `seed` determines, and no more than kDepth of a depth that was said.
// Unknown if there is no memory for that, or the pieces cannot be done. The pieces and arguments
// are as they were afterwards. The caller's thread alone.
inline constexpr long kDepth = 128;
Outcome try_call(const Cut& cut, Piece* pieces, unsigned fewer, std::uint64_t seed,
                 Question question, Runner runner, Scratch& scratch);

// What trials have said, by Cut::key(). Any thread. Keeps some hundred; what is not asked for
// again gives way.
//
// A few trials with other numbers each time: where few sums are computed by other code, a trial
// shows it in nine of ten cases, in the worst that was found in two. One trial a call, for the sake
// of whoever waits for the answer, and not before a call has come a few times, for the sake of
// programs that make each call once. The first is timed, and another if it has shown no gain: if
// that shows none either, the call stays as it is.
class Verdicts {
 public:
  static constexpr unsigned kSeenFirst = 6, kTrials = 6;
  enum class Verdict { not_yet, fewer, stays };
  struct Answer {
    Verdict verdict;
    unsigned trial;  // the number of one that the caller is to make now, and to note(); 0: none
  };
  // `there_is_time`: for a trial.
  Answer ask(std::uint64_t key, bool there_is_time = true);
  static bool is_timed(unsigned trial) { return trial == 1 || trial == kInDoubt; }
  void note(std::uint64_t key, unsigned trial, Outcome outcome);

  // One trial at a time: whether the caller makes it, and that it is over.
  bool may_try() {
    return !trying_.load(std::memory_order_relaxed) &&
           !trying_.exchange(true, std::memory_order_acquire);
  }
  void has_tried() { trying_.store(false, std::memory_order_release); }

  // In a fork's child, where who made a trial is no more.
  void after_fork() { trying_.store(false, std::memory_order_relaxed); }

 private:
  // A word: the key, and in its last four bits how often it was seen, from there on how many trials
  // it has stood, or one of these. Zero: none.
  static constexpr std::uint64_t kNoGain = 13, kStays = 14, kSame = 15, kState = 15;
  static_assert(kSeenFirst + kTrials < kNoGain);
  static constexpr unsigned kInDoubt = kTrials + 1;  // the trial after one that has shown no gain
  static constexpr unsigned kWays = 4, kSets = 128;
  std::atomic<std::uint64_t>* set_of(std::uint64_t key) { return words_[key % kSets]; }

  std::atomic<std::uint64_t> words_[kSets][kWays] = {};
  std::atomic<bool> trying_{false};  // one at a time: they take memory
};

// Which ways of cutting have given right results in a trial, where their last bits do not matter:
// by Cut::form(), as how pieces are laid out depends on the routine and the version, and not on
// sizes. Any thread.
class KnownForms {
 public:
  enum class Answer { right, wrong, to_be_tried };
  Answer ask(std::uint64_t form) const;
  // Nothing, if there are too many.
  void note(std::uint64_t form, bool right);

 private:
  // A word: the form, and in its last four bits what it is. Zero: none.
  static constexpr std::uint64_t kRight = 1, kWrong = 2, kState = 15;
  static constexpr unsigned kForms = 256;
  std::atomic<std::uint64_t> words_[kForms] = {};
};

// The time that trials may take: some at once, for programs whose calls are few and come often, and
// a part of the time that calls take which are not decided. So programs whose calls are never the
// same lose that much at most. Any thread.
class TrialTime {
 public:
  bool is_left() const {
    return spent_.load(std::memory_order_relaxed) <
           kAtOnce + undecided_.load(std::memory_order_relaxed) / kPart;
  }
  void spend(Nanoseconds time) { spent_.fetch_add(time, std::memory_order_relaxed); }
  // By a call that had all its pieces as there was no verdict yet.
  void add_undecided(Nanoseconds time) { undecided_.fetch_add(time, std::memory_order_relaxed); }

 private:
  static constexpr Nanoseconds kAtOnce = 128'000'000, kPart = 32;
  std::atomic<Nanoseconds> spent_{0}, undecided_{0};
};

}  // namespace roost::blas

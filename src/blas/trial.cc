// The numbers of a trial, and the table of what trials have said.
#include "blas/trial.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/mix.h"
#include "os/sys.h"

namespace roost::blas {
namespace {

// Uniform in [-1, 1), every bit of a double's mantissa in use; or, `exact`, one of -2, -1, 1 and 2.
class Random {
 public:
  Random(std::uint64_t seed, bool exact) : state_(mix(seed)), exact_(exact) {}
  bool is_exact() const { return exact_; }
  double next() {
    std::uint64_t bits = mix(state_ += kMixStep) >> 11;
    if (exact_) return (bits & 1 ? 1 : 2) * (bits & 2 ? 1 : -1);
    return static_cast<double>(bits) * 0x1p-52 - 1;
  }

 private:
  std::uint64_t state_;
  bool exact_;
};

// A matrix of so many real numbers in all.
struct Matrix {
  char* at;
  std::size_t numbers;
};

class Numbers {
 public:
  // `exact`: numbers for which all sums are exact.
  Numbers(bool is_double, std::uint64_t seed, bool exact)
      : is_double_(is_double), random_(seed, exact) {}
  void set(const Matrix& matrix, std::size_t i, double value) {
    if (is_double_) {
      reinterpret_cast<double*>(matrix.at)[i] = value;
    } else {
      reinterpret_cast<float*>(matrix.at)[i] = static_cast<float>(value);
    }
  }
  // A prime number of random ones, again and again.
  void fill(const Matrix& matrix, double scale = 1) {
    std::size_t random = std::min<std::size_t>(matrix.numbers, 8191);
    for (std::size_t i = 0; i < random; ++i) set(matrix, i, scale * random_.next());
    std::size_t bytes = is_double_ ? sizeof(double) : sizeof(float);
    for (std::size_t done = random; done < matrix.numbers; done += random) {
      random = std::min(random, matrix.numbers - done);
      memcpy(matrix.at + done * bytes, matrix.at, random * bytes);
    }
  }

  // A triangle, on either side of the diagonal, by which nothing grows: only odd unknowns depend on
  // others, which are even.
  void let_nothing_grow(const Matrix& matrix, std::size_t order, std::size_t parts) {
    scale(matrix, order, parts,
          [](std::size_t i, std::size_t j) { return i % 2 == 1 && j % 2 == 0 ? 1.0 : 0.0; });
  }
  double on_diagonal() const { return are_exact() ? 0.5 : 1.25; }
  bool are_exact() const { return random_.is_exact(); }

  // Elements of a square matrix become the smaller the farther they are from its diagonal.
  void fall_off(const Matrix& matrix, std::size_t order, std::size_t parts) {
    scale(matrix, order, parts, [](std::size_t i, std::size_t j) {
      return 0.9 / static_cast<double>(std::max<std::size_t>(i > j ? i - j : j - i, 1));
    });
  }

 private:
  // Each element of a square matrix, by `factor(row, column)`.
  template <class By>
  void scale(const Matrix& matrix, std::size_t order, std::size_t parts, const By& factor) {
    for (std::size_t j = 0; j < order; ++j) {
      for (std::size_t i = 0; i < order; ++i) {
        for (std::size_t part = 0; part < parts; ++part) {
          std::size_t at = parts * (i + j * order) + part;
          set(matrix, at, factor(i, j) * get(matrix, at));
        }
      }
    }
  }
  double get(const Matrix& matrix, std::size_t i) const {
    return is_double_ ? reinterpret_cast<double*>(matrix.at)[i]
                      : static_cast<double>(reinterpret_cast<float*>(matrix.at)[i]);
  }

  bool is_double_;
  Random random_;
};

// A factor like the caller's; `exact`: that is not 1 or 0, if there is one, as it stands for all.
struct Like {
  double doubles[2];
  float floats[2];
  Like(Factor factor, bool is_complex, bool exact) {
    if (exact) factor = Factor::other;
    double value = factor == Factor::zero        ? 0
                   : factor == Factor::one       ? 1
                   : factor == Factor::minus_one ? -1
                   : exact                       ? 0.5
                                                 : 0.785398163397448;
    doubles[0] = value;
    doubles[1] = !is_complex || factor != Factor::other ? 0 : exact ? -0.5 : 0.382683432365090;
    std::copy(doubles, doubles + 2, floats);
  }
  void* at(bool is_double) { return is_double ? static_cast<void*>(doubles) : floats; }
};

// A sum of so many products shows what a longer one would: kernels have code for what is left of
// it behind a multiple of 64 at most. So many unknowns would not: of more than GEMM_Q of them,
// other kernels do a part.
long depth_of_trial(long depth) { return depth < kDepth ? depth : kDepth - 64 + depth % 64; }

// Of unknowns, as many as show what the kernels do in a triangle's corners, where sums are short.
long order_of_corners(long order) {
  constexpr long kUnit = 32;
  return order < 2 * kUnit ? order : kUnit + order % kUnit;
}

// While it lives, the call's arguments are the trial's, and the memory, too.
class Trial {
 public:
  Trial(const Cut& cut, Piece* pieces, unsigned fewer, bool exact, Runner runner, Scratch& scratch)
      : cut_(cut),
        pieces_(pieces),
        fewer_(fewer),
        runner_(runner),
        scratch_(scratch),
        call_(*pieces[0].arguments),
        before_(call_),
        alpha_(cut.alpha(), cut.is_complex(), exact),
        beta_(cut.beta(), cut.is_complex(), exact) {
    if (cut.alpha() != Factor::none) call_.alpha = alpha_.at(cut.is_double());
    if (cut.beta() != Factor::none) call_.beta = beta_.at(cut.is_double());
    // Where no depth was said, none is looked at; should it be, its sums have to lie in the inputs.
    if (cut.routine() != Routine::triangular)
      call_.k = cut.has_depth() ? depth_of_trial(cut.depth()) : cut.depth();
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    call_ = before_;
    scratch_.give_back();
  }

  // Whether fewer pieces have taken less time so far, by more than chance.
  bool has_gain() const { return few_ns_ + few_ns_ / 32 < all_ns_; }

  Outcome multiply(Numbers& numbers) {
    // What is only read need not be as large as its sides say: columns that begin a few elements
    // apart, whichever way the routine looks at them, do as well.
    constexpr long kStride = 8;
    auto longest = static_cast<std::size_t>(cut_.longest());
    if (!has_room(parts() * longest * (1 + kStride), 2, cut_.rows(), cut_.columns())) {
      return Outcome::unknown;
    }
    for (Matrix& input : inputs_) numbers.fill(input);
    call_.a = inputs_[0].at;
    call_.b = inputs_[1].at;
    call_.lda = call_.ldb = kStride;
    call_.ldc = cut_.rows();
    return compare(call_.c, numbers);
  }

  // Fewer unknowns if `corners`, in a triangle whose elements are large near the diagonal: the last
  // bits of short sums would be lost beside it.
  Outcome solve(Numbers& numbers, bool corners) {
    long order = corners ? order_of_corners(cut_.depth()) : cut_.depth();
    long rows = cut_.by_rows() ? cut_.rows() : order;
    long columns = cut_.by_rows() ? order : cut_.columns();
    auto n = static_cast<std::size_t>(order);
    if (!has_room(parts() * n * n, 1, rows, columns)) return Outcome::unknown;
    const Matrix& triangle = inputs_[0];
    // What is solved for stays of the size of what it is solved from.
    double scale = 1;
    while (!corners && !numbers.are_exact() && scale * scale * static_cast<double>(order) > 1)
      scale /= 2;
    numbers.fill(triangle, scale);
    if (corners) numbers.fall_off(triangle, n, parts());
    if (numbers.are_exact()) numbers.let_nothing_grow(triangle, n, parts());
    for (std::size_t i = 0; i < n; ++i)
      numbers.set(triangle, parts() * (i + i * n), numbers.on_diagonal());
    call_.a = triangle.at;
    call_.lda = order;
    (cut_.by_rows() ? call_.n : call_.m) = order;
    call_.ldb = rows;
    return compare(call_.b, numbers);
  }

 private:
  std::size_t parts() const { return cut_.is_complex() ? 2 : 1; }

  // For so many inputs of so many numbers, and for two results.
  bool has_room(std::size_t numbers, unsigned inputs, long rows, long columns) {
    constexpr std::size_t kMostBytes = std::size_t{96} << 20;
    std::size_t written = parts() * static_cast<std::size_t>(rows * columns);
    std::size_t bytes_of_number = cut_.bytes_of_element() / parts();
    std::size_t bytes = (inputs * numbers + 2 * written) * bytes_of_number;
    char* at = bytes > kMostBytes ? nullptr : scratch_.take(bytes);
    if (!at) return false;
    for (unsigned i = 0; i < inputs; ++i, at += numbers * bytes_of_number) {
      inputs_[i] = {at, numbers};
    }
    bytes_of_result_ = written * bytes_of_number;
    all_ = {at, written};
    few_ = {at + bytes_of_result_, written};
    return true;
  }

  // `result`: the call's pointer to it.
  Outcome compare(void*& result, Numbers& numbers) {
    numbers.fill(all_);
    memcpy(few_.at, all_.at, bytes_of_result_);
    result = all_.at;
    if (!run(cut_.size(), all_ns_)) return Outcome::unknown;
    result = few_.at;
    Fewer in_fewer(cut_, pieces_, fewer_);
    if (!run(fewer_, few_ns_)) return Outcome::unknown;
    bool same = memcmp(all_.at, few_.at, bytes_of_result_) == 0;
    return same ? Outcome::same : Outcome::differs;
  }

  bool run(unsigned n, Nanoseconds& taken) {
    Nanoseconds before = os::now();
    bool done = runner_.run(runner_.context, pieces_, n);
    taken += os::now() - before;
    return done;
  }

  const Cut& cut_;
  Piece* pieces_;
  unsigned fewer_;
  Nanoseconds all_ns_ = 0, few_ns_ = 0;
  Runner runner_;
  Scratch& scratch_;
  Arguments& call_;
  Arguments before_;
  Like alpha_, beta_;
  Matrix inputs_[2], all_, few_;
  std::size_t bytes_of_result_ = 0;
};

}  // namespace

char* Scratch::take(std::size_t bytes) {
  if (memory_ && bytes_ >= bytes) return memory_;
  if (char* old = memory_) {
    memory_ = nullptr;
    os::unmap_memory(old, bytes_);
  }
  bytes_ = bytes;
  memory_ = static_cast<char*>(os::map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE));
  return memory_;
}

void Scratch::give_back() {
  if (!memory_ || bytes_ <= kKept) return;
  char* old = memory_;
  memory_ = nullptr;
  os::unmap_memory(old, bytes_);
}

Outcome try_call(const Cut& cut, Piece* pieces, unsigned fewer, std::uint64_t seed,
                 Question question, Runner runner, Scratch& scratch) {
  // Sets of numbers; of those for corners, which cost little, more, as few sums are that short.
  constexpr unsigned kSets = 2, kCorners = 8;
  const bool exact = question == Question::right;
  Numbers numbers(cut.is_double(), seed, exact);
  Trial trial(cut, pieces, fewer, exact, runner, scratch);
  const bool solves = cut.routine() == Routine::triangular;
  const unsigned sets = solves || exact ? 1 : kSets, corners = solves && !exact ? kCorners : 0;
  Outcome outcome = Outcome::same;
  for (unsigned i = 0; i < sets && outcome == Outcome::same; ++i)
    outcome = solves ? trial.solve(numbers, false) : trial.multiply(numbers);
  // Before the corners: their sizes are not the call's.
  if (question == Question::same_faster && outcome == Outcome::same && !trial.has_gain())
    return Outcome::no_gain;
  for (unsigned i = 0; i < corners && outcome == Outcome::same; ++i)
    outcome = trial.solve(numbers, true);
  return outcome;
}

KnownForms::Answer KnownForms::ask(std::uint64_t form) const {
  for (unsigned i = 0; i < kForms; ++i) {
    std::uint64_t word = words_[(form + i) % kForms].load(std::memory_order_relaxed);
    if (word == 0) return Answer::to_be_tried;
    if (word >> 4 == form) return (word & kState) == kRight ? Answer::right : Answer::wrong;
  }
  return Answer::wrong;
}

void KnownForms::note(std::uint64_t form, bool right) {
  std::uint64_t own = form << 4 | (right ? kRight : kWrong);
  for (unsigned i = 0; i < kForms; ++i) {
    std::uint64_t none = 0;
    std::atomic<std::uint64_t>& word = words_[(form + i) % kForms];
    if (word.compare_exchange_strong(none, own, std::memory_order_relaxed) || none >> 4 == form)
      return;
  }
}

Verdicts::Answer Verdicts::ask(std::uint64_t key, bool there_is_time) {
  std::uint64_t own = key << 4;
  std::atomic<std::uint64_t>* set = set_of(key);
  std::atomic<std::uint64_t>* rarest = nullptr;
  std::uint64_t rarest_word = 0;
  for (unsigned i = 0; i < kWays; ++i) {
    std::uint64_t word = set[i].load(std::memory_order_relaxed);
    std::uint64_t state = word & kState;
    if (word && (word ^ own) <= kState) {
      if (state == kSame) return {Verdict::fewer, 0};
      if (state == kStays) return {Verdict::stays, 0};
      if (state < kSeenFirst) {
        set[i].compare_exchange_strong(word, word + 1, std::memory_order_relaxed);
        return {Verdict::not_yet, 0};
      }
      if (!there_is_time || !may_try()) return {Verdict::not_yet, 0};
      auto next = static_cast<unsigned>(state - kSeenFirst + 1);
      return {Verdict::not_yet, state == kNoGain ? kInDoubt : next};
    }
    if (!rarest || state < (rarest_word & kState)) {
      rarest = &set[i];
      rarest_word = word;
    }
  }
  // Where all are decided, one of them gives way.
  if ((rarest_word & kState) >= kStays) {
    rarest = &set[key / kSets % kWays];
    rarest_word = rarest->load(std::memory_order_relaxed);
  }
  rarest->compare_exchange_strong(rarest_word, own | 1, std::memory_order_relaxed);
  return {Verdict::not_yet, 0};
}

void Verdicts::note(std::uint64_t key, unsigned trial, Outcome outcome) {
  has_tried();
  if (outcome == Outcome::unknown) return;
  bool in_doubt = trial == kInDoubt;
  std::uint64_t own = key << 4, state = in_doubt ? kNoGain : kSeenFirst + trial - 1, next;
  if (outcome == Outcome::differs || (in_doubt && outcome == Outcome::no_gain)) {
    next = kStays;
  } else if (outcome == Outcome::no_gain) {
    next = kNoGain;
  } else {
    next = in_doubt ? kSeenFirst + 2 : trial == kTrials ? kSame : state + 1;
  }
  std::atomic<std::uint64_t>* set = set_of(key);
  for (unsigned i = 0; i < kWays; ++i) {
    std::uint64_t tried = own | state;
    if (set[i].compare_exchange_strong(tried, own | next, std::memory_order_relaxed)) return;
  }
}

}  // namespace roost::blas

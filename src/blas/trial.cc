// The numbers of a trial, and the table of what trials have said.
#include "blas/trial.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/mix.h"
#include "os/sys.h"

namespace roost::blas {
namespace {

// Uniform in [-1, 1), every bit of a double's mantissa in use.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}
  double next() { return static_cast<double>(mix(state_ += kMixStep) >> 11) * 0x1p-52 - 1; }

 private:
  std::uint64_t state_;
};

// Pages of our own, zero at first.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    memory_ = static_cast<char*>(os::map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS));
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (memory_) os::unmap_memory(memory_, bytes_);
  }
  char* memory() const { return memory_; }

 private:
  std::size_t bytes_;
  char* memory_;
};

// A matrix of so many real numbers in all.
struct Matrix {
  char* at;
  std::size_t numbers;
};

class Numbers {
 public:
  Numbers(bool is_double, std::uint64_t seed) : is_double_(is_double), random_(seed) {}
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

 private:
  bool is_double_;
  Random random_;
};

// A factor like the caller's.
struct Like {
  double doubles[2];
  float floats[2];
  Like(Factor factor, bool is_complex) {
    double value = factor == Factor::zero        ? 0
                   : factor == Factor::one       ? 1
                   : factor == Factor::minus_one ? -1
                                                 : 0.785398163397448;
    doubles[0] = value;
    doubles[1] = is_complex && factor == Factor::other ? 0.382683432365090 : 0;
    std::copy(doubles, doubles + 2, floats);
  }
  void* at(bool is_double) { return is_double ? static_cast<void*>(doubles) : floats; }
};

// A sum of so many products shows what a longer one would: kernels have code for what is left of
// it behind a multiple of 64 at most.
long depth_of_trial(long depth) { return depth < kDepth ? depth : kDepth - 64 + depth % 64; }

// The call's arguments are the trial's while it lives.
class Borrowed {
 public:
  explicit Borrowed(Arguments& arguments) : arguments_(arguments), before_(arguments) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { arguments_ = before_; }

 private:
  Arguments& arguments_;
  Arguments before_;
};

}  // namespace

Outcome try_call(const Cut& cut, Piece* pieces, unsigned fewer, std::uint64_t seed, Runner runner) {
  constexpr std::size_t kMostBytes = std::size_t{96} << 20;
  constexpr long kStride = 8;
  bool triangular = cut.routine() == Routine::triangular;
  auto parts = cut.is_complex() ? std::size_t{2} : 1;
  auto rows = static_cast<std::size_t>(cut.rows());
  auto columns = static_cast<std::size_t>(cut.columns());
  auto longest = static_cast<std::size_t>(cut.longest());
  auto order = static_cast<std::size_t>(cut.depth());
  // What is only read need not be as large as its sides say: columns that begin a few elements
  // apart, whichever way the routine looks at them, do as well. What is solved with has to be.
  std::size_t read = parts * (triangular ? order * order : 2 * longest * (1 + kStride));
  std::size_t written = parts * rows * columns;
  std::size_t bytes_of_number = cut.bytes_of_element() / parts;
  std::size_t bytes = (read + 2 * written) * bytes_of_number;
  if (bytes > kMostBytes) return Outcome::unknown;
  Pages pages(bytes);
  if (!pages.memory()) return Outcome::unknown;
  Matrix inputs{pages.memory(), read};
  Matrix all{inputs.at + read * bytes_of_number, written};
  Matrix few{all.at + written * bytes_of_number, written};

  Numbers numbers(cut.is_double(), seed);
  // What is solved for stays of the size of what it is solved from.
  double scale = 1;
  while (triangular && scale * scale * static_cast<double>(order) > 1) scale /= 2;
  numbers.fill(inputs, scale);
  for (std::size_t i = 0; triangular && i < order; ++i) {
    numbers.set(inputs, parts * (i + i * order), 1.25);
  }
  numbers.fill(all);
  memcpy(few.at, all.at, written * bytes_of_number);

  Arguments& call = *pieces[0].arguments;
  Borrowed borrowed(call);
  Like alpha(cut.alpha(), cut.is_complex()), beta(cut.beta(), cut.is_complex());
  if (cut.alpha() != Factor::none) call.alpha = alpha.at(cut.is_double());
  if (cut.beta() != Factor::none) call.beta = beta.at(cut.is_double());
  if (cut.has_depth()) call.k = depth_of_trial(cut.depth());
  call.a = inputs.at;
  if (triangular) {
    call.lda = static_cast<long>(order);
    call.ldb = cut.rows();
  } else {
    call.b = inputs.at + read / 2 * bytes_of_number;
    call.lda = call.ldb = kStride;
    call.ldc = cut.rows();
  }
  void*& result = triangular ? call.b : call.c;
  result = all.at;
  if (!runner.run(runner.context, pieces, cut.size())) return Outcome::unknown;
  result = few.at;
  {
    Fewer in_fewer(cut, pieces, fewer);
    if (!runner.run(runner.context, pieces, fewer)) return Outcome::unknown;
  }
  bool same = memcmp(all.at, few.at, written * bytes_of_number) == 0;
  return same ? Outcome::same : Outcome::differs;
}

Verdicts::Answer Verdicts::ask(std::uint64_t key) {
  std::uint64_t own = key << 4;
  std::atomic<std::uint64_t>* set = set_of(key);
  std::atomic<std::uint64_t>* rarest = nullptr;
  std::uint64_t rarest_word = 0;
  for (unsigned i = 0; i < kWays; ++i) {
    std::uint64_t word = set[i].load(std::memory_order_relaxed);
    std::uint64_t state = word & kState;
    if (word && (word ^ own) <= kState) {
      if (state == kSame) return {Verdict::same, 0};
      if (state == kDiffers) return {Verdict::differs, 0};
      if (state < kSeenFirst) {
        set[i].compare_exchange_strong(word, word + 1, std::memory_order_relaxed);
        return {Verdict::not_yet, 0};
      }
      bool taken = trying_.load(std::memory_order_relaxed) ||
                   trying_.exchange(true, std::memory_order_acquire);
      return {Verdict::not_yet, taken ? 0 : static_cast<unsigned>(state - kSeenFirst + 1)};
    }
    if (!rarest || state < (rarest_word & kState)) {
      rarest = &set[i];
      rarest_word = word;
    }
  }
  // Where all are decided, one of them gives way.
  if ((rarest_word & kState) >= kDiffers) {
    rarest = &set[key / kSets % kWays];
    rarest_word = rarest->load(std::memory_order_relaxed);
  }
  rarest->compare_exchange_strong(rarest_word, own | 1, std::memory_order_relaxed);
  return {Verdict::not_yet, 0};
}

void Verdicts::note(std::uint64_t key, unsigned trial, Outcome outcome) {
  trying_.store(false, std::memory_order_release);
  if (outcome == Outcome::unknown) return;
  std::uint64_t own = key << 4, state = kSeenFirst + trial - 1;
  bool last = trial >= kTrials;
  std::uint64_t next = outcome == Outcome::differs ? kDiffers : last ? kSame : state + 1;
  std::atomic<std::uint64_t>* set = set_of(key);
  for (unsigned i = 0; i < kWays; ++i) {
    std::uint64_t tried = own | state;
    if (set[i].compare_exchange_strong(tried, own | next, std::memory_order_relaxed)) return;
  }
}

}  // namespace roost::blas

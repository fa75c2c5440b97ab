// The numbers of a trial, and the table of what trials have said.
#include "blas/trial.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "os/raw_syscall.h"

namespace roost::blas {
namespace {

// Uniform in [-1, 1), every bit of a double's mantissa in use.
class Random {
 public:
  double next() {
    state_ ^= state_ << 13;  // Marsaglia's xorshift64
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }

 private:
  std::uint64_t state_ = 0x2545f4914f6cdd1du;
};

// Pages of our own, zero at first.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    long at = os::raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_ = at < 0 && at > -4096 ? nullptr : reinterpret_cast<char*>(at);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (memory_) {
      os::raw_syscall(SYS_munmap, reinterpret_cast<long>(memory_), static_cast<long>(bytes_));
    }
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
  explicit Numbers(bool is_double) : is_double_(is_double) {}
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

bool same_results(const Cut& cut, Piece* pieces, unsigned fewer, Runner runner) {
  constexpr std::size_t kMostBytes = std::size_t{96} << 20;
  constexpr long kStride = 8;
  bool triangular = cut.routine() == Routine::triangular;
  auto parts = cut.is_complex() ? std::size_t{2} : 1;
  auto rows = static_cast<std::size_t>(cut.rows());
  auto columns = static_cast<std::size_t>(cut.columns());
  auto longest = static_cast<std::size_t>(std::max({cut.rows(), cut.columns(), cut.depth()}));
  auto order = static_cast<std::size_t>(cut.depth());
  // What is only read need not be as large as its sides say: columns that begin a few elements
  // apart, whichever way the routine looks at them, do as well. What is solved with has to be.
  std::size_t read = parts * (triangular ? order * order : longest * (1 + kStride));
  std::size_t written = parts * rows * columns;
  std::size_t bytes_of_number = cut.bytes_of_element() / parts;
  std::size_t bytes = (2 * read + 2 * written) * bytes_of_number;
  if (bytes > kMostBytes) return false;
  Pages pages(bytes);
  if (!pages.memory()) return false;
  Matrix a{pages.memory(), read}, b{a.at + read * bytes_of_number, read};
  Matrix all{b.at + read * bytes_of_number, written};
  Matrix few{all.at + written * bytes_of_number, written};

  Numbers numbers(cut.is_double());
  numbers.fill(a, triangular ? 1 / static_cast<double>(order) : 1);
  for (std::size_t i = 0; triangular && i < order; ++i)
    numbers.set(a, parts * (i + i * order), 1.25);
  numbers.fill(b);
  numbers.fill(all);
  memcpy(few.at, all.at, written * bytes_of_number);

  Arguments& call = *pieces[0].arguments;
  Borrowed borrowed(call);
  Like alpha(cut.alpha(), cut.is_complex()), beta(cut.beta(), cut.is_complex());
  if (cut.alpha() != Factor::none) call.alpha = alpha.at(cut.is_double());
  if (cut.beta() != Factor::none) call.beta = beta.at(cut.is_double());
  if (cut.routine() == Routine::product || cut.routine() == Routine::rank_k)
    call.k = depth_of_trial(cut.depth());
  call.a = a.at;
  call.lda = triangular ? static_cast<long>(order) : kStride;
  (triangular ? call.ldb : call.ldc) = cut.rows();
  if (!triangular) {
    call.b = b.at;
    call.ldb = kStride;
  }
  void*& result = triangular ? call.b : call.c;
  result = all.at;
  if (!runner.run(runner.context, pieces, cut.size())) return false;
  result = few.at;
  {
    Fewer in_fewer(cut, pieces, fewer);
    if (!runner.run(runner.context, pieces, fewer)) return false;
  }
  return memcmp(all.at, few.at, written * bytes_of_number) == 0;
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
      if (state == kSame) return Answer::same;
      if (state == kDiffers) return Answer::differs;
      if (state == kOnTrial) return Answer::not_yet;
      bool enough = state + 1 >= seen_enough(key);
      bool counted = set[i].compare_exchange_strong(word, enough ? own | kOnTrial : word + 1,
                                                    std::memory_order_relaxed);
      return counted && enough ? Answer::try_now : Answer::not_yet;
    }
    if (!rarest || state < (rarest_word & kState)) {
      rarest = &set[i];
      rarest_word = word;
    }
  }
  // Where all have been tried, one of them gives way.
  if ((rarest_word & kState) >= kOnTrial) {
    rarest = &set[key / kSets % kWays];
    rarest_word = rarest->load(std::memory_order_relaxed);
  }
  rarest->compare_exchange_strong(rarest_word, own | 1, std::memory_order_relaxed);
  return Answer::not_yet;
}

void Verdicts::note(std::uint64_t key, bool same) {
  std::uint64_t own = key << 4;
  std::atomic<std::uint64_t>* set = set_of(key);
  for (unsigned i = 0; i < kWays; ++i) {
    std::uint64_t tried = own | kOnTrial;
    if (set[i].compare_exchange_strong(tried, own | (same ? kSame : kDiffers),
                                       std::memory_order_relaxed)) {
      return;
    }
  }
}

}  // namespace roost::blas

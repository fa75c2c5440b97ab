// The calling thread's floating-point control words: modes of rounding, masks of exceptions, and
// the flags of what its computations have met.
#pragma once

#include <cstdint>

namespace roost {

struct FloatingPoint {
#if defined(__x86_64__)
  std::uint32_t sse;  // mxcsr
  std::uint16_t x87;  // control word; its flags are elsewhere

  static FloatingPoint of_caller() {
    FloatingPoint words;
    words.sse = __builtin_ia32_stmxcsr();
    asm volatile("fnstcw %0" : "=m"(words.x87));
    return words;
  }
  void load() const {
    __builtin_ia32_ldmxcsr(sse);
    asm volatile("fldcw %0" : : "m"(x87));
  }
  bool has_modes_of(const FloatingPoint& other) const {
    return ((sse ^ other.sse) & kModes) == 0 && x87 == other.x87;
  }
  // Those, with the flags it has.
  FloatingPoint with_modes_of(const FloatingPoint& other) const {
    return {(other.sse & kModes) | (sse & ~kModes), other.x87};
  }
  // As threads begin, as far as vector units are concerned.
  bool is_standard() const { return (sse & kModes) == 0x1f80; }

  static constexpr std::uint32_t kModes = 0xffc0;
#elif defined(__aarch64__)
  std::uint64_t modes;  // fpcr
  std::uint64_t flags;  // fpsr

  static FloatingPoint of_caller() {
    FloatingPoint words;
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(words.modes), "=r"(words.flags));
    return words;
  }
  void load() const { asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(modes), "r"(flags)); }
  bool has_modes_of(const FloatingPoint& other) const { return modes == other.modes; }
  FloatingPoint with_modes_of(const FloatingPoint& other) const { return {other.modes, flags}; }
  bool is_standard() const { return modes == 0; }
#endif
  bool operator==(const FloatingPoint&) const = default;
};

// While it lives, the calling thread may use other words.
class KeepFloatingPoint {
 public:
  KeepFloatingPoint() : before_(FloatingPoint::of_caller()) {}
  // Begins with the modes of `other`.
  explicit KeepFloatingPoint(const FloatingPoint& other) : KeepFloatingPoint() {
    if (!before_.has_modes_of(other)) before_.with_modes_of(other).load();
  }
  KeepFloatingPoint(const KeepFloatingPoint&) = delete;
  KeepFloatingPoint& operator=(const KeepFloatingPoint&) = delete;
  // Loading costs more than comparing, and they are nearly always the same.
  ~KeepFloatingPoint() {
    if (FloatingPoint::of_caller() != before_) before_.load();
  }

 private:
  FloatingPoint before_;
};

}  // namespace roost

// The floating-point modes and flags of the calling thread.
#pragma once

namespace roost {

// The calling thread's modes of rounding, and what its computations have met so far. While it
// lives, nothing is added to that.
class FloatingPointFlags {
 public:
#if defined(__x86_64__)
  FloatingPointFlags() : before_(__builtin_ia32_stmxcsr()) {}
  FloatingPointFlags(const FloatingPointFlags&) = delete;
  FloatingPointFlags& operator=(const FloatingPointFlags&) = delete;
  ~FloatingPointFlags() { __builtin_ia32_ldmxcsr(before_); }

  // As threads begin. Where they are not, it matters who computes what.
  static bool are_standard() {
    constexpr unsigned kModes = 0xffc0, kStandard = 0x1f80;
    return (__builtin_ia32_stmxcsr() & kModes) == kStandard;
  }

 private:
  unsigned before_;
#else
  FloatingPointFlags() {}
  ~FloatingPointFlags() {}
  static bool are_standard() { return true; }
#endif
};

}  // namespace roost

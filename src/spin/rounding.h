// How vector instructions round (MXCSR), while another thread's are executed in its place.
#pragma once

#include "spin/execute.h"

namespace roost::spin {

// While this lives, the calling thread rounds as another does that has these registers.
class Rounding {
 public:
  explicit Rounding(const Registers& registers) : has_vectors_(registers.has_vectors) {
#if defined(__x86_64__)
    if (!has_vectors_) return;
    before_ = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(registers.mxcsr);
#endif
  }
  ~Rounding() {
#if defined(__x86_64__)
    if (has_vectors_) __builtin_ia32_ldmxcsr(before_);
#endif
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
  // Those flags are the other's, too, that were raised meanwhile.
  void note(Registers& registers) const {
#if defined(__x86_64__)
    if (has_vectors_) registers.mxcsr = __builtin_ia32_stmxcsr();
#endif
  }

 private:
  bool has_vectors_;
  std::uint32_t before_ = 0;
};

}  // namespace roost::spin

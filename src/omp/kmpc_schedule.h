// LLVM's numbers for schedules (sched_type of its runtime), as compilers pass them.
#pragma once

#include <cstdint>

#include "omp/workshare.h"

namespace roost::omp {

inline constexpr std::int32_t kKmpModifiers =
    3 << 29;  // monotonic, nonmonotonic: all of ours are both
// Without the ordered clause; with it, 32 more. 128 more: "nomerge", which changes nothing here.
inline constexpr std::int32_t kKmpStaticChunked = 33;
inline constexpr std::int32_t kKmpStatic = 34;
inline constexpr std::int32_t kKmpDynamic = 35;
inline constexpr std::int32_t kKmpGuided = 36;
inline constexpr std::int32_t kKmpRuntime = 37;
inline constexpr std::int32_t kKmpAuto = 38;
inline constexpr std::int32_t kKmpTrapezoidal = 39;
inline constexpr std::int32_t kKmpStaticGreedy = 40;
inline constexpr std::int32_t kKmpStaticBalanced = 41;
inline constexpr std::int32_t kKmpGuidedIterative = 42;
inline constexpr std::int32_t kKmpGuidedAnalytical = 43;
inline constexpr std::int32_t kKmpStaticSteal = 44;
inline constexpr std::int32_t kKmpStaticBalancedChunked = 45;  // blocks of a multiple of the chunk
inline constexpr std::int32_t kKmpGuidedSimd = 46;
inline constexpr std::int32_t kKmpRuntimeSimd = 47;
inline constexpr std::int32_t kKmpDistributeChunked = 91;
inline constexpr std::int32_t kKmpDistribute = 92;

struct KmpSchedule {
  std::int32_t kind;
  bool ordered;
};
inline KmpSchedule kmp_schedule(std::int32_t number) {
  number &= ~kKmpModifiers;
  if (number > 160) number -= 128;
  if (number > 64 && number <= 72) return {number - 32, true};
  return {number, false};
}

}  // namespace roost::omp

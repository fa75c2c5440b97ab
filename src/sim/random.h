// Random numbers that are the same on every machine: integers only, no libm, no std distributions.
#pragma once

#include <cstdint>

#include "base/mix.h"

namespace roost::sim {

// One word of state, passes BigCrush.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mix(state_ += kMixStep); }

  // 0 .. n-1, without bias that matters here (n < 2^32); 0 if n is 0.
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(next()) * n >> 64);
  }

  std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    return first + below(last - first + 1);
  }

  // `mean` varied by at most `permille` either way, evenly.
  std::uint64_t around(std::uint64_t mean, unsigned permille) {
    std::uint64_t spread = mean / 1000 * permille + mean % 1000 * permille / 1000;
    return between(mean - spread, mean + spread);
  }

  // Exponentially distributed with this mean: -mean * ln(u), u uniform in (0, 1].
  std::uint64_t exponential(std::uint64_t mean) {
    constexpr unsigned __int128 kLn2 = 0xb17217f7;  // ln 2 * 2^32
    unsigned __int128 nats = kLn2 * minus_log2(next()) >> 32;
    return static_cast<std::uint64_t>(nats * mean >> 32);
  }

 private:
  // -log2((x + 1) / 2^64) * 2^32, by repeated squaring.
  static std::uint64_t minus_log2(std::uint64_t x) {
    if (x == ~0ull) return 0;
    ++x;
    unsigned zeros = static_cast<unsigned>(__builtin_clzll(x));
    std::uint64_t mantissa = x << zeros;  // [2^63, 2^64): the value in [1, 2) times 2^63
    std::uint64_t log2 = 0;
    for (int bit = 0; bit < 32; ++bit) {
      unsigned __int128 square = static_cast<unsigned __int128>(mantissa) * mantissa;
      bool carry = square >> 127 & 1;
      mantissa = static_cast<std::uint64_t>(square >> (carry ? 64 : 63));
      log2 = log2 << 1 | carry;
    }
    return ((std::uint64_t{zeros} + 1) << 32) - log2;
  }

  std::uint64_t state_;
};

}  // namespace roost::sim

// Which routine of level 3 the pieces of a call belong to, by the names that OpenBLAS exports.
#pragma once

#include <cstdint>

namespace roost::blas {

enum class Routine : std::uint8_t {
  unknown,  // not looked at yet
  other,
  product,     // gemm
  symmetric,   // symm, hemm
  rank_k,      // syrk
  triangular,  // trsm, trmm
};

// `begins`: the symbol that begins where the pieces' routine does, null if none does; `behind`: the
// first that ends behind that address. What a product or a rank-k update has done by each piece is
// a static function in front of the one that cuts the call (driver/level3/level3_thread.c,
// level3_syrk_threaded.c).
Routine routine_named(const char* begins, const char* behind);

}  // namespace roost::blas

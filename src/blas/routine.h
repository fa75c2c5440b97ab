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

// The exported functions about a call's code; null: there is none.
struct Names {
  const char* routine;  // begins where the pieces' routine does
  const char* caller;   // has the call of exec_blas in it
  // Before and behind that call, if it is in no exported function.
  const char* before;
  const char* behind;
};

// What a product has done by each piece is a static function, and what cuts the call another one or
// inlined into the exported one, which is the last in its file (driver/level3/level3_thread.c); if
// what lies behind is no product, a compiler has put it in front. A rank-k update is cut by the
// exported one (level3_syrk_threaded.c).
Routine routine_named(const Names& names);

}  // namespace roost::blas

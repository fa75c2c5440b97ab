// Names as BLAS has them: a letter for the type of number, then the routine, then how it is meant.
#include "blas/routine.h"

#include <string.h>

namespace roost::blas {
namespace {

bool is_type(char letter) {
  return letter == 's' || letter == 'd' || letter == 'c' || letter == 'z';
}

// Whether `name` is, after the type, `routine` and so many letters.
bool is(const char* name, const char* routine, std::size_t letters) {
  if (!name || !is_type(name[0])) return false;
  std::size_t length = strlen(routine);
  return strncmp(name + 1, routine, length) == 0 && strlen(name + 1 + length) == letters;
}

}  // namespace

Routine routine_named(const char* begins, const char* behind) {
  if (begins) {
    return is(begins, "trsm_", 4) || is(begins, "trmm_", 4) ? Routine::triangular : Routine::other;
  }
  if (is(behind, "gemm_thread_", 2)) return Routine::product;
  if (is(behind, "symm_thread_", 2) || is(behind, "hemm_thread_", 2)) return Routine::symmetric;
  if (is(behind, "syrk_thread_", 2)) return Routine::rank_k;
  return Routine::other;
}

}  // namespace roost::blas

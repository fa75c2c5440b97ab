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

Routine product_named(const char* name) {
  if (is(name, "gemm_thread_", 2)) return Routine::product;
  bool symmetric = is(name, "symm_thread_", 2) || is(name, "hemm_thread_", 2);
  return symmetric ? Routine::symmetric : Routine::other;
}

}  // namespace

Routine routine_named(const Names& names) {
  if (names.routine) {
    bool solves = is(names.routine, "trsm_", 4) || is(names.routine, "trmm_", 4);
    return solves ? Routine::triangular : Routine::other;
  }
  if (is(names.caller, "syrk_thread_", 2)) return Routine::rank_k;
  if (names.caller) return product_named(names.caller);
  Routine behind = product_named(names.behind);
  return behind == Routine::other ? product_named(names.before) : behind;
}

}  // namespace roost::blas

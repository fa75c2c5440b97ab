// How many cores a call of a BLAS can have, and so how many pieces are enough for it.
#pragma once

#include <cstdint>

#include "preload/blas.h"

namespace roost {

// `all_trials`: calls are tried however long that takes and little it gains, for tests. Before the
// process has its first managed thread.
void blas_width_configure(BlasMode mode, bool all_trials);
bool blas_makes_all_trials();

// Whether calls are cut into fewer pieces at all, and whether even if the last bits of their
// results may be others then.
bool blas_has_fewer_pieces();
bool blas_bits_may_differ();

// In a fork's child: the calls of other threads are not under way there.
void blas_width_after_fork();

// Calls that Roost saw so far, and those of them that were made of fewer pieces.
struct BlasCounts {
  std::uint64_t calls;
  std::uint64_t in_fewer_pieces;
};
BlasCounts blas_counts();

// A call of BLIS's (blis_width.cc), and whether it got fewer threads than were asked for.
void count_blas_call(bool fewer);

// While it lives, a call is under way.
class BlasCall {
 public:
  BlasCall();
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;
  ~BlasCall();

  // Of the cores that are idle or this process's, its share among the process's calls, at least
  // one; `asked` if it is as many, or if all pieces are to be done as they are.
  unsigned cores(unsigned asked) const;

  // It was made of fewer pieces.
  void count_fewer();
};

}  // namespace roost

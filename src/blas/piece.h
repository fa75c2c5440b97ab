// What OpenBLAS writes down of a call and of its pieces: its blas_arg_t (common_macro.h) and
// blas_queue_t (common_thread.h), the same since GotoBLAS.
#pragma once

#include <pthread.h>

namespace roost::blas {

// Of a call. Which routine has set which of them differs: others are whatever was on its stack.
struct Arguments {
  void* a;
  void* b;
  void* c;
  void* d;
  void* alpha;
  void* beta;
  long m, n, k;
  long lda, ldb, ldc, ldd;
  void* common;  // flags by which the pieces wait for each other
  long pieces;
};

// Of a piece.
struct Piece {
  void* routine;
  long position;
  long assigned;  // the thread of the pool
  Arguments* arguments;
  const long* range_m;
  const long* range_n;
  void* a;  // work buffers; null: those of the thread that does it
  void* b;
  Piece* next;
  pthread_mutex_t lock;
  pthread_cond_t finished;
  int mode;
  int status;

  // In `mode`: the routine takes its arguments one by one, or `arguments` alone.
  static constexpr int kLegacy = 0x8000, kPlain = 0x4000;
  // The pieces share the parts of a matrix that each has packed for all.
  static constexpr int kNode = 0x2000;
  static constexpr int kComplex = 0x1000;
  static constexpr int kPrecision = 0xf, kSingle = 2, kDouble = 3;
  // If neither kLegacy nor kPlain, it is a
  using Routine = int(Arguments* arguments, const long* range_m, const long* range_n, void* a,
                      void* b, long position);
};

// exec_blas: has the pieces done, and waits for all.
using Exec = int(long n, Piece* pieces);

}  // namespace roost::blas

// BLAS libraries whose calls take as many threads as there are cores to spare (`--blas adapt`).
//
// OpenBLAS and BLIS cut each large call among as many threads as a variable of theirs says. With
// the option, a helper thread of the process watches the instance and sets that number by the
// library's own function, as policy/call_width.h finds it: never more than the program had asked
// for. Results may differ in their last bits from call to call, as they do between any two numbers
// of threads. See docs/design/011-width-of-blas-calls.md.
#pragma once

namespace roost {

// What may be done to a call of a BLAS (`--blas`).
enum class BlasMode {
  keep,   // nothing
  same,   // cut into fewer pieces than asked for, where results stay the same (blas_width.h)
  adapt,  // that, and other widths
};

// Before the program creates a thread. Starts the helper, if one is wanted.
void blas_before_thread();
void blas_after_fork();

// A thread begins (1) or ends (-1) to wait for a mutex.
void blas_lock_waiters(int change);

}  // namespace roost

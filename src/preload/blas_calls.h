// Calls of OpenBLAS, whose pieces are light threads, if Roost's OpenMP runtime is in the process.
// docs/design/026-blas-calls.md.
#pragma once

#include <dlfcn.h>

namespace roost {

// When a thread is made, by code in `caller`: if that is OpenBLAS, what has to be done before it
// has threads.
void blas_calls_before_thread(const dl_find_object& caller);

// The same for builds that make no threads (for OpenMP): at a process's start, and after a dlopen
// (`new_ones` false: others have been loaded besides, and threads may be in them).
void blas_calls_look_at_objects(bool new_ones);

// In a fork's child.
void blas_calls_after_fork();

// Whether the calling OS thread has such light threads, which wait for each other.
bool in_blas_call();

}  // namespace roost

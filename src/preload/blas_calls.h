// Calls of OpenBLAS, whose pieces are light threads, if Roost's OpenMP runtime is in the process.
// docs/design/026-blas-calls.md.
#pragma once

namespace roost {

// When a thread is made, `caller` being the address that pthread_create returns to: if it is in
// OpenBLAS, what has to be done before that has threads.
void blas_calls_before_thread(const void* caller);

// Whether the calling OS thread has such light threads, which wait for each other.
bool in_blas_call();

}  // namespace roost

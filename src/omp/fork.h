// fork() in programs that use the library: the child may use OpenMP at once.
#pragma once

namespace roost::omp {

// Registers what fork calls. Once.
void watch_forks();

}  // namespace roost::omp

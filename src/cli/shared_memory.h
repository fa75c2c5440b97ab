// Whether /dev/shm can hold an instance.
#pragma once

#include <cstdint>
#include <string>

namespace roost::cli {

struct SharedMemory {
  std::string problem;  // a sentence if no instance can be made there; else empty
  bool tmpfs = false;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// Looks whether there is a /dev/shm that this user may write to and that has `needed_bytes` left.
SharedMemory look_at_shared_memory(std::uint64_t needed_bytes);

// The size of the segment of an instance; n_threads 0 stands for the default.
std::uint64_t bytes_of_instance(unsigned n_cores, std::uint64_t n_threads);

// "3.5 MiB"
std::string format_bytes(std::uint64_t bytes);

}  // namespace roost::cli

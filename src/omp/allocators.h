// Memory that programs ask OpenMP for (OpenMP 5.2, chapter 6). It is the program's own malloc's, of
// one kind: all memory spaces are the same here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/env_parse.h"

namespace roost::omp {

// omp_allocator_handle_t: a predefined one up to omp_thread_mem_alloc, or what make_allocator()
// made.
using AllocatorHandle = std::uintptr_t;
inline constexpr AllocatorHandle kNullAllocator = 0;
inline constexpr AllocatorHandle kDefaultAllocator = 1;
inline constexpr AllocatorHandle kLastPredefined = 8;

// kNullAllocator if the traits cannot be had.
AllocatorHandle make_allocator(std::uintptr_t space, int n_traits, const parse::Trait* traits);
inline AllocatorHandle make_allocator(const parse::AllocatorValue& value) {
  return make_allocator(value.space, value.n_traits, value.traits);
}

// fork.cc's: what allocators share is whole in the child.
void lock_allocators_before_fork();
void unlock_allocators_after_fork();

// The program's malloc and its family, found by name.
struct ProgramHeap {
  void* (*allocate)(std::size_t bytes) = nullptr;
  void* (*allocate_zeroed)(std::size_t count, std::size_t bytes) = nullptr;
  void* (*reallocate)(void* memory, std::size_t bytes) = nullptr;
  int (*allocate_aligned)(void** memory, std::size_t alignment, std::size_t bytes) = nullptr;
  void (*release)(void* memory) = nullptr;
};
const ProgramHeap& program_heap();

}  // namespace roost::omp

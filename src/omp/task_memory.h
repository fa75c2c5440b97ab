// Memory for tasks and what belongs to them, from free lists by size.
//
// Each OS thread has lists of its own; what one thread frees more than it uses moves in batches to
// lists that all share, so that a thread that only creates tasks gets back what others free.
// Nothing returns to the system: a thief may look at a task that has ended, and wake-ups may come
// late.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost::omp {

// Tasks never share memory with anything else: a list in which somebody waits for a task stays one.
enum class MemoryFor : unsigned { tasks, others };
inline constexpr unsigned kMemoryKinds = 2;

// The size class of so many bytes, and what it gives.
inline constexpr unsigned kExactClasses = 4;  // multiples of 64 bytes
constexpr unsigned size_class(std::size_t bytes) {
  if (bytes <= 64 * kExactClasses) return bytes ? static_cast<unsigned>((bytes - 1) / 64) : 0;
  if (bytes <= 384) return 4;
  if (bytes <= 512) return 5;
  if (bytes <= 768) return 6;
  if (bytes <= 1024) return 7;
  return 8 + 53 - static_cast<unsigned>(__builtin_clzll(bytes - 1));
}
constexpr std::size_t class_bytes(unsigned index) {
  constexpr std::size_t kMiddle[] = {384, 512, 768, 1024};
  if (index < kExactClasses) return 64 * (index + 1);
  if (index < 8) return kMiddle[index - 4];
  return std::size_t{2048} << (index - 8);
}
static_assert(class_bytes(size_class(1025)) == 2048 && class_bytes(size_class(2048)) == 2048);
static_assert(class_bytes(size_class(2049)) == 4096 && class_bytes(size_class(64)) == 64);

// Memory of the class, aligned to 64 bytes; zero when it comes from the system, else as it was left
// but for its first 16 bytes. Never null. By any thread; about 3 ns.
void* take_memory(MemoryFor kind, unsigned index);
void give_memory(MemoryFor kind, unsigned index, void* memory);

// Around a fork: the shared lists are whole meanwhile.
void lock_task_memory_before_fork();
void unlock_task_memory_after_fork();

// For what is no task, with its size.
template <class T>
T* take_others(std::size_t bytes = sizeof(T)) {
  return static_cast<T*>(take_memory(MemoryFor::others, size_class(bytes)));
}
inline void give_others(void* memory, std::size_t bytes) {
  give_memory(MemoryFor::others, size_class(bytes), memory);
}

}  // namespace roost::omp

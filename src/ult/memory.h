// Memory for what lives as long as the process, and for stacks: guest code has no heap.
#pragma once

#include <cstddef>

namespace roost::ult {

// Zeroed bytes aligned to two cache lines, never given back: what other threads may still look at
// (a ticket, a record) stays what it was. Null when the kernel has no memory. Any thread; takes a
// lock seldom.
void* permanent(std::size_t bytes);

// Around a fork: nobody is in permanent() meanwhile.
void lock_permanent();
void unlock_permanent();

template <class T>
T* permanent_array(std::size_t count) {
  return static_cast<T*>(permanent(count * sizeof(T)));
}

// What may not be touched below each stack: an array whose first element is written first is not to
// jump over it.
inline constexpr std::size_t kGuardBytes = std::size_t{1} << 20;

// A stack with a guard below it.
struct Stack {
  char* low = nullptr;    // the guard
  std::size_t bytes = 0;  // with the guard
  char* bottom() const { return low + kGuardBytes; }
  char* top() const { return low + bytes; }
  bool holds(const void* place) const { return low && place >= bottom() && place < top(); }
  bool guards(const void* place) const { return low && place >= low && place < bottom(); }
};
// `bytes`: what is usable, rounded up to 64 KiB. low is null when the kernel has no memory.
Stack map_stack(std::size_t bytes);

// Says that there is no memory, and ends the process with status 1: an OpenMP region cannot be
// refused.
[[noreturn]] void out_of_memory(const char* what);

}  // namespace roost::ult

// What checkers of memory and of races are told: that stacks are switched, and what happens before
// what.
//
// AddressSanitizer and ThreadSanitizer see the program's code, not this library's. Their runtimes'
// entry points are weak here: in other programs each hook is one branch on a flag that is never
// set. Nobody but the library's own layers calls these; from the thread concerned, not in signal
// handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace roost::ult {

struct Carrier;
struct Stack;
struct Strand;

// What the sanitizers know of a strand.
struct Fibre {
  const void* bottom = nullptr;  // of its stack, lowest address; roots': once left the first time
  std::size_t bytes = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's, while it is suspended
  void* context = nullptr;     // ThreadSanitizer's
};

// Has valgrind know that this is a stack, where its header was there at build time. Two dozen
// instructions without effect elsewhere. Once for each stack.
void introduce_stack(const Stack& stack);

// Has it know that the calling strand's stack is in use to twice `red_zone` bytes, and a word,
// below `stack_pointer`, where a signal handler on another stack has it go on: valgrind follows a
// stack pointer from one red zone to the next.
void introduce_below(std::uintptr_t stack_pointer, std::size_t red_zone);

// Whether the process has one of them. Known from the first carrier on.
extern constinit std::atomic<bool> sanitized;
void look_for_sanitizers();

namespace sanitizer {

// In place of roost_ult_switch(), from the current strand.
void switch_to(Carrier& own, Strand& from, Strand& to);
void arrive(Carrier& own);
void release(const void* what);
void acquire(const void* what);

inline bool present() { return __builtin_expect(sanitized.load(std::memory_order_relaxed), 0); }

}  // namespace sanitizer

// Right after the first switch to a strand, on it.
inline void fibre_begins(Carrier& own) {
  if (sanitizer::present()) sanitizer::arrive(own);
}

// What the caller has done happens before what others do after happens_after() of the same address.
inline void happens_before(const void* what) {
  if (sanitizer::present()) sanitizer::release(what);
}
inline void happens_after(const void* what) {
  if (sanitizer::present()) sanitizer::acquire(what);
}

}  // namespace roost::ult

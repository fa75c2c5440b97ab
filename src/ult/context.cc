// Lays out fresh stacks for the switch.
#include "ult/context.h"

#include <cstdint>
#include <cstring>

extern "C" void roost_ult_begin();

namespace roost::ult {

#if defined(__x86_64__)
void* prepare_context(void* top, void (*entry)(void*), void* argument) {
  auto* words = static_cast<std::uint64_t*>(top);
  // roost_ult_begin starts at the aligned top, and its call leaves what the ABI expects.
  *--words = reinterpret_cast<std::uint64_t>(&roost_ult_begin);
  *--words = 0;                                          // rbp
  *--words = 0;                                          // rbx
  *--words = reinterpret_cast<std::uint64_t>(entry);     // r12
  *--words = reinterpret_cast<std::uint64_t>(argument);  // r13
  *--words = 0;                                          // r14
  *--words = 0;                                          // r15
  std::uint32_t control[2] = {};
  asm volatile("stmxcsr %0\n\tfnstcw %1"
               : "=m"(control[0]), "+m"(control[1]));  // half of the second
  std::memcpy(--words, control, sizeof control);
  return words;
}
#elif defined(__aarch64__)
void* prepare_context(void* top, void (*entry)(void*), void* argument) {
  auto* words = static_cast<std::uint64_t*>(top) - 22;
  std::memset(words, 0, 22 * sizeof *words);
  words[0] = reinterpret_cast<std::uint64_t>(entry);              // x19
  words[1] = reinterpret_cast<std::uint64_t>(argument);           // x20
  words[11] = reinterpret_cast<std::uint64_t>(&roost_ult_begin);  // x30
  asm volatile("mrs %0, fpcr" : "=r"(words[20]));
  return words;
}
#endif

}  // namespace roost::ult

// Looks for 0f 05 (`syscall`) with a telling `mov $number, %register` before it.
#include "os/inline_syscalls.h"

#include <sys/syscall.h>

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace roost::os {

#if defined(__x86_64__)
namespace {

// Compilers keep the number in any register and far ahead of the instruction when one function
// has several calls (libgomp's do). Small numbers are common constants: only straight in eax.
constexpr std::size_t kFar = 256, kNear = 24;
constexpr std::uint32_t kLarge[] = {
    SYS_futex,          SYS_sched_setaffinity, SYS_sched_getaffinity, SYS_epoll_wait,
    SYS_epoll_pwait,    SYS_clock_nanosleep,   SYS_pselect6,          SYS_ppoll,
    SYS_io_uring_enter, SYS_epoll_pwait2,      SYS_futex_waitv};
constexpr std::uint32_t kSmall[] = {SYS_sched_yield, SYS_nanosleep, SYS_poll, SYS_select};

template <std::size_t N>
bool is_one_of(std::uint32_t number, const std::uint32_t (&numbers)[N]) {
  for (std::uint32_t n : numbers) {
    if (n == number) return true;
  }
  return false;
}

// `end` is the instruction's place; the number is loaded by b8+r imm32 (41 b8+r for r8 to r15).
bool number_before(const unsigned char* code, std::size_t end) {
  std::size_t start = end > kFar ? end - kFar : 0;
  for (std::size_t i = start; i + 5 <= end; ++i) {
    if ((code[i] & 0xf8) != 0xb8) continue;
    std::uint32_t number;
    memcpy(&number, code + i + 1, sizeof number);
    if (is_one_of(number, kLarge)) return true;
    if (code[i] == 0xb8 && end - i <= kNear && is_one_of(number, kSmall)) return true;
  }
  return false;
}

// The bytes are part of a displacement, as in a jump by 0x50f bytes: no compiler makes an
// instruction of two zeros, and two 0xff are none.
bool in_displacement(const unsigned char* code, std::size_t bytes, std::size_t i) {
  if (i + 4 > bytes) return false;
  return (code[i + 2] == 0 && code[i + 3] == 0) || (code[i + 2] == 0xff && code[i + 3] == 0xff);
}

bool is_waiting_call(const unsigned char* code, std::size_t bytes, std::size_t i) {
  return !in_displacement(code, bytes, i) && number_before(code, i);
}

}  // namespace

bool waits_inline(const unsigned char* code, std::size_t bytes) {
  const __m128i first = _mm_set1_epi8(0x0f), second = _mm_set1_epi8(0x05);
  std::size_t i = 0;
  for (; i + 17 <= bytes; i += 16) {
    __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(code + i));
    __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(code + i + 1));
    auto hits = static_cast<unsigned>(_mm_movemask_epi8(
        _mm_and_si128(_mm_cmpeq_epi8(here, first), _mm_cmpeq_epi8(next, second))));
    for (; hits; hits &= hits - 1) {
      if (is_waiting_call(code, bytes, i + static_cast<unsigned>(__builtin_ctz(hits)))) return true;
    }
  }
  for (; i + 2 <= bytes; ++i) {
    if (code[i] == 0x0f && code[i + 1] == 0x05 && is_waiting_call(code, bytes, i)) return true;
  }
  return false;
}
#else
bool waits_inline(const unsigned char*, std::size_t) { return false; }
#endif

}  // namespace roost::os

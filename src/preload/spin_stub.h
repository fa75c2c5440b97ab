// A rewritten loop, and the stub that its rounds pass through (docs/design/005-busy-waiting.md).
#pragma once

#if defined(__x86_64__)

#include <atomic>
#include <cstdint>

#include "base/types.h"
#include "spin/detour.h"
#include "spin/wait_proof.h"

namespace roost {

struct Site {
  std::uint64_t branch;  // 0: that object is gone, and the place is free
  std::uint64_t target;
  std::uint32_t steps;
  bool is_pause;             // of a loop that no proof follows: `branch` is its pause
  bool has_detour;           // else: none is safe
  std::atomic<bool> active;  // the branch leads to the stub, or is about to
  // Of one that stands at the loop's head: how much more often who came there did not wait, by the
  // looks at it; and until when it is left alone since that was too often, the last time for so
  // long.
  std::atomic<std::int32_t> in_vain;
  std::atomic<Nanoseconds> left_until, left_for;
  std::uint8_t* page;       // with the stub; null if there is none
  std::uint64_t copy;       // of its first instruction, in the stub
  std::uint64_t copy_size;  // 0: it stays where it is
  spin::Detour detour;
  std::uint8_t change_before[sizeof(spin::Detour::change)];
  std::uint8_t hops_before[spin::kMaxHops][sizeof(spin::Hop::bytes)];
  spin::CodeWindow code;  // as the program has it
};

// Whether the loop's first instruction has become a jump, and its branch stays: the stub executes
// it.
inline bool jumps_at_target(const Site& site) { return site.detour.change_address == site.target; }

extern "C" {
// What roost_spin_entry (spin/saved_call.inc) and the stub have pushed.
struct SpinFrame {
  std::uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx;
  std::uint64_t return_address;
  const Site* site;
  std::uint64_t rax, flags;
  std::uint8_t red_zone[128];
};
__attribute__((visibility("hidden"))) void roost_spin_entry();
}

// A round of more instructions than this is not looked at again before it yields.
inline constexpr unsigned kShortRound = 24;

// Through stubs while threads were READY. Some may get lost.
extern std::atomic<std::uint32_t> passes;

// Of the calling thread through stubs while none was, modulo 256: when it comes to 0, the thread
// says that it spins.
extern constinit thread_local std::uint8_t rounds __attribute__((tls_model("initial-exec")));
// Of the calling thread through those that stand at a loop's head, downwards modulo 256: when it
// comes to 0, it is looked at whether the thread waits, as others come there who do not. Soon again
// if it does.
extern constinit thread_local std::uint8_t heads __attribute__((tls_model("initial-exec")));

// Writes the stub of a planned site. False if the loop's first instruction cannot be there.
bool assemble_stub(std::uint8_t* page, Site& site);

}  // namespace roost

#endif

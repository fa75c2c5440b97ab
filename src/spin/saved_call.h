// Calls from the midst of a program's code, with every register saved (x86-64): from a rewritten
// loop, or where a signal handler has an interrupted thread go on.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#include <ucontext.h>

#include <atomic>

#include "spin/execute.h"

namespace roost::spin {

// Whether the system uses XSAVE, by which vector and x87 registers are saved. Asked when it is
// needed: in a virtual machine the instruction that tells takes longer than all else that is asked
// at a process's start.
inline bool can_save_registers() {
  static constinit std::atomic<int> known{0};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == 0) {
    unsigned a, b, c, d;
    constexpr unsigned kSystemUsesXsave = 1u << 27;
    answer = __get_cpuid(1, &a, &b, &c, &d) && c & kSystemUsesXsave ? 1 : -1;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer > 0;
}

// Whether the interrupted thread was in a handler on its alternate signal stack. (The kernel does
// not note SS_ONSTACK here.)
inline bool on_alternate_stack(const ucontext_t& interrupted) {
  auto top = reinterpret_cast<greg_t>(interrupted.uc_stack.ss_sp) +
             static_cast<greg_t>(interrupted.uc_stack.ss_size);
  greg_t left = top - interrupted.uc_mcontext.gregs[REG_RSP];
  return left >= 0 && left <= static_cast<greg_t>(interrupted.uc_stack.ss_size);
}

// By a signal handler: the thread goes on at `detour`, one of ROOST_DETOUR's, and then where it was
// interrupted. Its stack pointer must be on a stack, and not on the alternate one if the detour may
// lead to another: the next signal would begin where this one's handler is.
inline void go_on_by(void (*detour)(), ucontext_t& interrupted) {
  greg_t* registers = interrupted.uc_mcontext.gregs;
  registers[REG_RSP] -= kRedZone + static_cast<greg_t>(sizeof(greg_t));
  memcpy(reinterpret_cast<void*>(registers[REG_RSP]), &registers[REG_RIP], sizeof(greg_t));
  registers[REG_RIP] = reinterpret_cast<greg_t>(detour);
}

}  // namespace roost::spin
#endif

// A thread as a signal handler finds it, for the proofs.
#pragma once

#include <ucontext.h>

#include "spin/wait_proof.h"

namespace roost::spin {

#if defined(__x86_64__)

inline constexpr int kContextOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                          REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15};

inline Registers registers_of(const ucontext_t& context) {
  const auto& r = context.uc_mcontext.gregs;
  Registers registers{};
  for (int i = 0; i < 16; ++i)
    registers.general[i] = static_cast<std::uint64_t>(r[kContextOrder[i]]);
  registers.thread = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  registers.instruction_pointer = static_cast<std::uint64_t>(r[REG_RIP]);
  registers.flags = static_cast<std::uint32_t>(r[REG_EFL]) & kFlags;
  return registers;
}

// The thread goes on with these.
inline void set_registers(ucontext_t& context, const Registers& registers) {
  auto& r = context.uc_mcontext.gregs;
  for (int i = 0; i < 16; ++i) r[kContextOrder[i]] = static_cast<greg_t>(registers.general[i]);
  r[REG_RIP] = static_cast<greg_t>(registers.instruction_pointer);
  r[REG_EFL] = (r[REG_EFL] & ~static_cast<greg_t>(kFlags)) | registers.flags;
}

// The code around `at`, or what of it lies in the same page. `read(address, to, bytes)` says
// whether all could be read.
template <class Read>
bool read_code(std::uint64_t at, CodeWindow& code, Read&& read) {
  constexpr std::uint64_t kPage = 4096;
  code.address = at - sizeof code.bytes / 2;
  code.size = sizeof code.bytes;
  if (read(code.address, code.bytes, code.size)) return true;
  std::uint64_t start = at & ~(kPage - 1), end = start + kPage;
  if (start < code.address) start = code.address;
  if (end > code.address + code.size) end = code.address + code.size;
  code.address = start;
  code.size = static_cast<std::uint32_t>(end - start);
  return read(start, code.bytes, code.size);
}

#endif

}  // namespace roost::spin

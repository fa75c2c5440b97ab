// A thread as a signal handler finds it, for the proofs.
#pragma once

#include <string.h>
#include <ucontext.h>

#include <cstddef>

#include "spin/wait_proof.h"

namespace roost::spin {

#if defined(__x86_64__)

inline constexpr int kContextOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                          REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15};

// As XSAVE leaves them in a signal's frame (Linux, asm/sigcontext.h).
struct VectorState {
  static constexpr std::uint32_t kMagic = 0x46505853;
  static constexpr std::uint32_t kMasks = 0x1f80;  // of MXCSR: no operation traps
  static constexpr std::uint64_t kSse = 2;
  std::uint8_t before[24];
  std::uint32_t mxcsr, mxcsr_mask;
  std::uint8_t x87[128];
  Vector vectors[16];
  std::uint8_t reserved[48];
  std::uint32_t magic;
  std::uint8_t sizes[44];
  std::uint64_t present;  // the components that are not as at a thread's start
};
static_assert(offsetof(VectorState, vectors) == 160 && offsetof(VectorState, magic) == 464 &&
              offsetof(VectorState, present) == 512);

inline VectorState* vectors_of(const ucontext_t& context) {
  auto* state = reinterpret_cast<VectorState*>(context.uc_mcontext.fpregs);
  bool is_known = state && state->magic == VectorState::kMagic &&
                  (state->mxcsr & VectorState::kMasks) == VectorState::kMasks;
  return is_known ? state : nullptr;
}

inline Registers registers_of(const ucontext_t& context) {
  const auto& r = context.uc_mcontext.gregs;
  Registers registers{};
  for (int i = 0; i < 16; ++i)
    registers.general[i] = static_cast<std::uint64_t>(r[kContextOrder[i]]);
  if (const VectorState* state = vectors_of(context)) {
    registers.has_vectors = true;
    registers.mxcsr = state->mxcsr;
    if (state->present & VectorState::kSse)
      memcpy(registers.vectors, state->vectors, sizeof registers.vectors);
  }
  registers.thread = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  registers.instruction_pointer = static_cast<std::uint64_t>(r[REG_RIP]);
  registers.flags = static_cast<std::uint32_t>(r[REG_EFL]) & kFlags;
  return registers;
}

// Whether the handler, whose third argument this is, is on the alternate stack. Else its own frame
// lies where the interrupted thread would call functions, and nobody may go on in its place.
inline bool is_apart(const ucontext_t& context) {
  std::uint64_t offset = reinterpret_cast<std::uint64_t>(&context) -
                         reinterpret_cast<std::uint64_t>(context.uc_stack.ss_sp);
  return !(context.uc_stack.ss_flags & SS_DISABLE) && offset < context.uc_stack.ss_size;
}

// The thread goes on with these.
inline void set_registers(ucontext_t& context, const Registers& registers) {
  auto& r = context.uc_mcontext.gregs;
  for (int i = 0; i < 16; ++i) r[kContextOrder[i]] = static_cast<greg_t>(registers.general[i]);
  r[REG_RIP] = static_cast<greg_t>(registers.instruction_pointer);
  if (VectorState* state = registers.has_vectors ? vectors_of(context) : nullptr) {
    memcpy(state->vectors, registers.vectors, sizeof registers.vectors);
    state->mxcsr = registers.mxcsr;
    state->present |= VectorState::kSse;
  }
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

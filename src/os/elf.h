// What an ELF file must say of itself to be of use here.
#pragma once

#include <elf.h>

namespace roost::os {

#if defined(__x86_64__)
inline constexpr Elf64_Half kElfMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr Elf64_Half kElfMachine = EM_AARCH64;
#endif

}  // namespace roost::os

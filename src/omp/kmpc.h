// Types of LLVM's ABI (clang 14 to 20).
#pragma once

#include <cstdint>

namespace roost::omp {

// Where in the source a construct stands.
struct Ident {
  std::int32_t reserved_1;
  std::int32_t flags;
  std::int32_t reserved_2;
  std::int32_t reserved_3;
  const char* source;  // ";file;function;line;column;;"
};

using Microtask = void (*)(std::int32_t* gtid, std::int32_t* bound_tid, ...);

// Outlined functions get pointers to what they share as further arguments: so many at most.
inline constexpr int kMaxArguments = 256;
void call_microtask(Microtask function, std::int32_t* gtid, std::int32_t* bound_tid, int count,
                    void** arguments);

}  // namespace roost::omp

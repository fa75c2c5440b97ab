// Wait loops that do nothing in eight no-ops, as OpenBLAS has them (YIELDING, since 0.3.22), offer
// room for a jump (spin/detour.h) once the no-ops are a jump over padding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost::spin {

// Eight bytes: a jump over six breakpoints.
inline constexpr std::uint8_t kRoom[8] = {0xeb, 6, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};

// The offset of the next such no-ops at or after `from`, which a branch a few instructions behind
// leads back to; `size` if there are none.
std::size_t find_idle_wait(const std::uint8_t* code, std::size_t size, std::size_t from);

}  // namespace roost::spin

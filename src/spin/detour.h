// Plans how a loop can be made to pass through a stub, so that no thread stands inside a changed
// instruction, and each sees the old or the new one: by one atomic store, to an instruction that
// begins and ends where it did.
//
// Mostly only a backward branch's displacement changes. A 32-bit displacement reaches the stub
// itself. An 8-bit one reaches padding nearby, into which a jump to the stub is written before:
// no-ops or breakpoints that follow a return or an unconditional jump, and to which no jump leads.
// Padding too short for a long jump may still hold a short one to the next padding.
//
// Where there is none in reach, the loop's first instruction may become a jump to the stub, which
// executes it instead. Of a loop that no proof follows a `pause` becomes one, in the same way.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost::spin {

inline constexpr unsigned kMaxHops = 6;

// Bytes to be written over a piece of padding, in this order, before the branch is changed: a jump,
// then no-ops, so that the code can be decoded as before.
struct Hop {
  std::uint64_t address;
  std::uint8_t size;
  std::uint8_t bytes[16];
};

struct Detour {
  std::uint64_t change_address;
  std::uint8_t change_size;  // 1, or within an aligned word of eight bytes
  std::uint8_t change[8];
  std::uint32_t n_hops;
  Hop hops[kMaxHops];
};

// `code` holds the bytes from `address` on, which must be the start of a function; the branch is
// inside, and so are the functions after it as far as the caller has them. False if there is no way
// that is proved safe.
bool plan_detour(const std::uint8_t* code, std::size_t size, std::uint64_t address,
                 std::uint64_t branch, std::uint64_t stub, Detour& detour);

// The same by a jump in the place of the instruction at `head`, one that loads, compares or tests.
bool plan_jump(const std::uint8_t* code, std::size_t size, std::uint64_t address,
               std::uint64_t head, std::uint64_t stub, Detour& detour);

// The same by a short jump in the place of the `pause` at this address, which is as long, or of a
// `tpause`, which is longer.
bool plan_pause(const std::uint8_t* code, std::size_t size, std::uint64_t address,
                std::uint64_t pause, std::uint64_t stub, Detour& detour);

}  // namespace roost::spin

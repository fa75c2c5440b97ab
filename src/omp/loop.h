// Worksharing loops, whatever the ABI: who gets which iterations.
//
// Iterations are numbered from 0, so neither the direction nor the type of the loop's variable
// matters, and nothing overflows at the ends of its range. A schedule is a Handout: a new one (of
// chunks by node, say, as NuPoCo and ILAN have them) is one more case in next_chunk_of().
//
// Dynamic: the team counts chunks, so a chunk costs one atomic addition. A member that finds none
// left has thereby left the construct: its addition goes on counting, and who sees chunks + size -
// 1 is the last one and cleans the slot. Loops of more than 2^62 chunks have their chunks made
// larger, so that the count cannot overflow.
//
// Guided: the next iteration is advanced by a share of what is left.
//
// Ordered: a chunk's ordered regions may begin when all chunks before it have passed the turn on:
// after as many ordered regions as it has iterations, or when its member asks for the next chunk.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// The member's chunk is `loop.low` to `loop.high` - 1 after next_chunk() has said true. After false
// it must not be called again for this loop.
void begin_loop(Member& member, const LoopPlan& plan);
bool next_chunk_of(Member& member);  // any handout but dynamic without shared state
void no_chunk_left(Member& member, std::uint64_t next);

inline void set_chunk(LoopState& loop, std::uint64_t number) {
  loop.low = number * loop.chunk;
  loop.high = number + 1 == loop.chunks ? loop.trip : loop.low + loop.chunk;
}

inline bool next_chunk(Member& member) {
  LoopState& loop = member.loop;
  if (loop.handout != Handout::dynamic || loop.shares) return next_chunk_of(member);
  // A dynamic loop has a slot. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
  std::uint64_t number = loop.workshare->next.fetch_add(1, std::memory_order_acq_rel);
  if (__builtin_expect(number >= loop.chunks, 0)) {
    no_chunk_left(member, number);
    return false;
  }
  set_chunk(loop, number);
  return true;
}
// The same for ordered loops.
bool next_ordered_chunk(Member& member);

// The member is through with the loop, though perhaps not with all its chunks. No barrier.
void end_loop(Member& member);

// An ordered region: waits for those of earlier iterations.
void begin_ordered(Member& member);
void end_ordered(Member& member);

// Number of iterations from `first` on: `end` is excluded. Types of 64 bits.
template <class T>
constexpr std::uint64_t trip_count(T first, T end, bool up, std::uint64_t step) {
  if (up ? first >= end : first <= end) return 0;
  auto distance = up ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(first)
                     : static_cast<std::uint64_t>(first) - static_cast<std::uint64_t>(end);
  std::uint64_t stride = up ? step : 0 - step;
  return stride == 1 ? distance : (distance - 1) / stride + 1;
}
// `last` is included. 2^64 iterations count as none.
template <class T>
constexpr std::uint64_t trip_count_to(T first, T last, bool up, std::uint64_t step) {
  if (up ? first > last : first < last) return 0;
  auto distance = up ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)
                     : static_cast<std::uint64_t>(first) - static_cast<std::uint64_t>(last);
  std::uint64_t stride = up ? step : 0 - step;
  return (stride == 1 ? distance : distance / stride) + 1;
}

// Member `number`'s iterations low to high - 1 if `size` members get one block each: the first ones
// get one more, as both compilers do where they divide a loop themselves.
struct Block {
  std::uint64_t low;
  std::uint64_t high;
};
constexpr Block block_of(std::uint64_t trip, std::uint64_t size, std::uint64_t number) {
  // No team is empty. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  std::uint64_t share = trip / size;
  std::uint64_t more = trip % size;
  std::uint64_t low = share * number + (number < more ? number : more);
  return {low, low + share + (number < more)};
}

}  // namespace roost::omp

// How a ring lies in its file: a header of one page, then the slots.
#pragma once

#include "trace/ring.h"

namespace roost::trace {

inline constexpr std::uint64_t kRingMagic = 0x31676e6952747352;  // "RstRing1"
inline constexpr std::uint64_t kHeaderBytes = 4096;
inline constexpr unsigned kInstanceBytes = 64;

struct RingHeader {
  // Last of the header to be written: the file is good from then on.
  std::atomic<std::uint64_t> magic;
  std::uint64_t size;  // slots
  std::int32_t pid;
  std::int32_t tid;
  char program[16];  // as the kernel calls the process
  char instance[kInstanceBytes];
  RingCursor<RealWorld> cursor;
};
static_assert(sizeof(RingHeader) <= kHeaderBytes);

constexpr std::uint64_t ring_file_bytes(std::uint64_t size) {
  return kHeaderBytes + size * sizeof(Slot<RealWorld>);
}
inline Ring<RealWorld> ring_in(void* file, std::uint64_t size) {
  auto* header = static_cast<RingHeader*>(file);
  auto* slots = reinterpret_cast<Slot<RealWorld>*>(static_cast<char*>(file) + kHeaderBytes);
  return {&header->cursor, slots, size};
}

inline constexpr std::uint64_t kStandardEvents = 16384, kFewestEvents = 64, kMostEvents = 1u << 24;

}  // namespace roost::trace

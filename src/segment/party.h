// Who holds something of the segment: a lock, a READY thread on its way, the claim of a core.
//
// The name lets others take it over when the holder is killed or stopped (sched/PROTOCOL.md,
// "Overtaking"). 24 bits, so that it fits into a thread's state word and beside the mark of a
// claim.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace roost {

// 0: nobody; a thread's record index + 1; or one of a process's threads without a record (the
// keeper, unmanaged ones), of which a part of the kernel's id tells which.
using Party = std::uint32_t;

inline constexpr Party kNobody = 0;
inline constexpr Party kPartyMask = 0xffffff;
inline constexpr Party kProcessParty = 0x800000;
inline constexpr unsigned kTidShift = 9;
inline constexpr std::uint32_t kTidMask = 0x1fff;

inline constexpr Party party_of_thread(ThreadIndex thread) { return thread + 1; }
inline constexpr Party party_of_process(ProcessIndex process, std::int32_t tid = 0) {
  return kProcessParty | (static_cast<std::uint32_t>(tid) & kTidMask) << kTidShift | process;
}
inline constexpr bool is_process(Party party) { return party & kProcessParty; }
inline constexpr ProcessIndex process_of_party(Party party) {
  return static_cast<ProcessIndex>(party & ((1u << kTidShift) - 1));
}

// In the place of a holder, for a READY thread in the queue of a core.
inline constexpr Party kQueueParty = 0x400000;
inline constexpr Party queue_of_core(CoreIndex core) { return kQueueParty | core; }
inline constexpr bool is_queue(Party party) {
  return (party & (kProcessParty | kQueueParty)) == kQueueParty;
}

}  // namespace roost

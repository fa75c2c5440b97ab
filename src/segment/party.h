// Who holds something of the segment: a lock, a READY thread on its way, the claim of a core.
//
// The name lets others take it back when the holder is killed (sched/PROTOCOL.md, "Death"). 24
// bits, so that it fits into a thread's state word and beside the mark of a claim.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace roost {

// 0: nobody; a thread's record index + 1; or a process, for its threads without a record (the
// keeper, unmanaged ones).
using Party = std::uint32_t;

inline constexpr Party kNobody = 0;
inline constexpr Party kProcessParty = 0x800000;

inline constexpr Party party_of_thread(ThreadIndex thread) { return thread + 1; }
inline constexpr Party party_of_process(ProcessIndex process) { return kProcessParty | process; }
inline constexpr bool is_process(Party party) { return party & kProcessParty; }

}  // namespace roost

// Plain data of the shared segment that the scheduler works on: thread records, core slots, queues.
//
// The thread record is the truth about a thread; queues and masks are an index over the records and
// can be rebuilt from them (sched/ready_queues.h). Offsets and indices only, no pointers: every
// process maps the segment where it likes. Structures written by different cores do not share a
// cache line.
//
// Everything is a template over a World (base/world.h), so that the model checker and the ledger
// benchmark run the very same structures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "base/world.h"
#include "segment/nudge_word.h"
#include "segment/party.h"

namespace roost {

// Where the kernel may run a thread that was granted a core.
enum class PinMode : std::uint32_t { core, node, none };
inline constexpr const char* kPinModeNames[] = {"core", "node", "none"};

inline constexpr unsigned kMaxProcesses = 512;
inline constexpr unsigned kProcessWords = kMaxProcesses / 64;

// A lock inside the segment. Names its holder, so that it can be taken from one who was killed or
// stopped inside; see sched/PROTOCOL.md, "Overtaking".
template <class W>
struct SegmentLock {
  typename W::template atomic<Party> holder;
};

// What a thread did; written by the thread itself or by whoever holds it (granter), read by anyone.
struct ThreadCounters {
  std::uint32_t grants;  // times a core was granted
  std::uint32_t
      switches;  // grants that were hand-offs: the core went straight from one thread to the next
  std::uint32_t yields;      // yields that gave the core away
  std::uint32_t migrations;  // grants on another core than the last one
  std::uint32_t rescues;     // cores taken by the watchdog while the thread slept unseen
  std::uint32_t shares;      // cores shared by the watchdog while the thread ran past the patience
  std::uint32_t awake;       // grants for which the thread waited without sleeping
  std::uint32_t beside;      // returns from the kernel after which it went on without a core
  std::uint32_t behind;      // wake-ups after which it waited for the core of its waker
  std::uint32_t attended;    // wake-ups left to a thread that spun on the idle core
};
struct Counter {
  const char* name;
  std::uint32_t ThreadCounters::*value;
};
// All of them, in the order in which they are summed up and shown.
inline constexpr Counter kCounterList[] = {
    {"grants", &ThreadCounters::grants},   {"switches", &ThreadCounters::switches},
    {"yields", &ThreadCounters::yields},   {"migrations", &ThreadCounters::migrations},
    {"rescues", &ThreadCounters::rescues}, {"shares", &ThreadCounters::shares},
    {"awake", &ThreadCounters::awake},     {"beside", &ThreadCounters::beside},
    {"behind", &ThreadCounters::behind},   {"attended", &ThreadCounters::attended}};
inline constexpr int kCounters = sizeof kCounterList / sizeof *kCounterList;

template <class W>
struct alignas(kCoreStride) ThreadRecord {
  // State word (segment/thread_state.h); also the futex word on which the thread waits for a grant.
  typename W::template atomic<std::uint32_t> state;
  typename W::template atomic<std::uint32_t> generation;  // odd: in use
  typename W::template atomic<std::int32_t> tid;          // kernel thread id, 0 before it is known
  ThreadIndex next;                                       // link in a Fifo, under that core's lock
  ProcessIndex process;                                   // owner
  CoreIndex last_core;                                    // preferred core; on which it last ran
  CoreIndex pinned_to;  // core to which its kernel affinity is set, kNoCore if none
  // Whether it got its core before threads of that core's own queue, for which it is their turn
  // next.
  typename W::template atomic<std::uint32_t> guest;
  std::uint64_t ready_ns;    // when it last became READY: order for a rebuild, age for the watchdog
  std::uint64_t granted_ns;  // when it was last granted a core
  ThreadCounters counters;
  typename W::template atomic<std::uint32_t>
      hand_permit;                // of roost_unblock (preload/public_api.cc)
  NudgeWord<W> nudge;             // whether the watchdog's signal is on its way (sched/ask_owner.h)
  std::uint64_t policy_words[4];  // the policy's state per thread
  // Where in its own process the words lie that it waits for (sched/wait_words.h); 0: not known.
  std::uint64_t wait_words;
  // For how long it has waited in the kernel's run queue without a core, all in all; by itself.
  typename W::template atomic<std::uint64_t> awake_ns;
};

// Threads back from the kernel that may run beside the owner of a core.
inline constexpr unsigned kPlacesBeside = 8;

// FIFO of READY threads of one process on one core, under the core's lock.
struct Fifo {
  ThreadIndex head;
  ThreadIndex tail;
  std::uint32_t length;
};

template <class W>
struct alignas(kCoreStride) CoreSlot {
  // Line 1: touched at every hand-off on this core.
  typename W::template atomic<std::uint32_t> owner;  // sched/ledger_tables.h; 0: free
  SegmentLock<W> lock;                               // protects the queue fields below
  typename W::template atomic<std::uint32_t> ready;  // READY threads in this core's queues
  typename W::template atomic<std::uint32_t>
      passes;                     // scheduling points passed; the watchdog's eye
  std::uint64_t policy_words[5];  // the policy's state per core, under `lock`
  typename W::template atomic<std::uint64_t> policy_shared;  // the same, for all to read and change
  // Line 2: which processes have READY threads here, under `lock`.
  std::uint64_t ready_processes[kProcessWords];
  // Line 3: the places beside it (sched/beside.h).
  typename W::template atomic<std::uint64_t> beside[kPlacesBeside];
  // Line 4: when a thread that spins there while it is idle last looked for READY threads; 0:
  // nobody does, or nobody may rely on it.
  alignas(kCacheLine) typename W::template atomic<std::uint64_t> attended_ns;
  // Until then nobody may: the kernel has kept threads from its CPU of late.
  typename W::template atomic<std::uint64_t> late_until_ns;

  // By whoever has the core.
  void count_pass() {
    passes.store(passes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

// One bit a core, 64 cores a word, one word a cache line.
template <class W>
struct alignas(kCacheLine) MaskWord {
  typename W::template atomic<std::uint64_t> bits;
};

// What a guest needs to know of a core, fixed when the instance is created.
struct CoreInfo {
  std::uint16_t os_cpu;  // the kernel's CPU number
  std::uint16_t node;    // NUMA node, counted from 0 in the instance
  std::uint16_t socket;
  std::uint16_t llc;     // last-level cache
  CoreIndex node_first;  // cores of its node are node_first .. node_end-1
  CoreIndex node_end;
  std::int16_t to_sibling = 0;  // from here to the other hardware thread of its physical core; 0:
                                // none or not known
};

// A slot's state word: ProcessState in bits 0-2, above it a count of the slot's tenants. Whoever
// judged a tenant dead acts by compare-and-swap on the word it judged, so that a new tenant of the
// same slot is never taken for the old one.
enum class ProcessState : std::uint32_t {
  free = 0,
  live = 1,
  exiting = 2,  // it has left; its threads end with it
  dead = 3,     // the leader cleans up after it
  joining = 4,  // not to be looked at yet
};
inline constexpr std::uint32_t kProcessStateMask = 7;
inline constexpr std::uint32_t kNextTenant = 8;
inline constexpr ProcessState process_state(std::uint32_t word) {
  return static_cast<ProcessState>(word & kProcessStateMask);
}
// Whether somebody has the slot for whom others may look.
inline constexpr bool is_taken(ProcessState state) {
  return state != ProcessState::free && state != ProcessState::joining;
}
inline constexpr std::uint32_t with_process_state(std::uint32_t word, ProcessState state) {
  return (word & ~kProcessStateMask) | static_cast<std::uint32_t>(state);
}

template <class W>
struct alignas(kCoreStride) ProcessSlot {
  typename W::template atomic<std::uint32_t> state;  // see ProcessState
  std::int32_t pid;
  std::uint64_t start_time;  // with pid it names the process for good (proc(5) field 22)
  typename W::template atomic<std::int32_t> keeper_tid;
  typename W::template atomic<std::uint32_t> exec_pending;  // a thread is inside exec
  typename W::template atomic<std::uint32_t> threads;       // records in use
  typename W::template atomic<std::uint32_t>
      nudge_signal;  // asks a thread of it to look whether it waits (sched/keeper.cc); 0: none
  // Threads that call a BLAS library, in sixteenths, where that is estimated (policy/call_width.h).
  typename W::template atomic<std::uint32_t> callers;
  typename W::template atomic<std::uint32_t> loops;  // wait loops that lead through stubs now
  typename W::template atomic<std::uint64_t> rank;   // of a parallel job (sched/seats.h); 0: none
  // When the leader last knew a thread of it to use a CPU without a core (sched/at_large.h).
  typename W::template atomic<Nanoseconds> at_large_ns;
  std::uint32_t dead_ticks;  // leader only: ticks since it was found dead
  char command[16];
  typename W::template atomic<std::uint64_t>
      retired[kCounters];  // counters of ended threads, in their order
};

}  // namespace roost

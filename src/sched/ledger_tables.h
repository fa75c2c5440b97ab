// The tables of a segment (or of a test) that the ledger works on.
#pragma once

#include "policy/policy.h"
#include "segment/thread_state.h"

namespace roost {

// The owner word of a core: 0 if it is free; else
//
//   bits 0-23   the Party that has it
//   bits 24-30  if that is a thread, which of its grants it was, counted round on the core
//   bit  31     kClaimedCore: the Party serves the core and does not run on it
//
// The count lets who was stopped while he gave a core away, and has been overtaken, tell a later
// grant of the core to the same thread from the one he had.
inline constexpr std::uint32_t kClaimedCore = 0x80000000;
inline constexpr unsigned kGrantShift = 24;

inline constexpr std::uint32_t owned_by(ThreadIndex thread, std::uint32_t grants = 0) {
  return party_of_thread(thread) | ((grants << kGrantShift) & ~kClaimedCore);
}
inline constexpr Party party_of_owner(std::uint32_t owner) { return owner & kPartyMask; }
// kNoThread if the core is free or only claimed.
inline constexpr ThreadIndex thread_of_owner(std::uint32_t owner) {
  return owner & kClaimedCore ? kNoThread : party_of_owner(owner) - 1;
}

// A core in the hands of somebody, and the owner word by which he has it.
struct Held {
  CoreIndex core = kNoCore;  // kNoCore: none
  std::uint32_t word = 0;
};

template <class W>
struct LedgerTables {
  CoreSlot<W>* cores;
  const CoreInfo* info;
  ThreadRecord<W>* threads;
  Fifo* fifos;  // [core][process]
  MaskWord<W>* idle;
  MaskWord<W>* queued;
  CoreIndex n_cores;
  unsigned n_processes;
  ThreadIndex n_threads;
  const Policy* policy;
  const std::uint64_t* parameters;
  // Cores set aside, and those of them left to nobody for now (sched/contention.h); null: none
  // ever.
  const MaskWord<W>* contended = nullptr;
  const MaskWord<W>* on_trial = nullptr;
};

template <class W>
void set_bit(MaskWord<W>* mask, CoreIndex core) {
  mask[core / 64].bits.fetch_or(1ull << (core % 64), std::memory_order_seq_cst);
}
template <class W>
void clear_bit(MaskWord<W>* mask, CoreIndex core) {
  mask[core / 64].bits.fetch_and(~(1ull << (core % 64)), std::memory_order_seq_cst);
}

template <class W>
bool has_bit(const MaskWord<W>* mask, CoreIndex core) {
  return mask && mask[core / 64].bits.load(std::memory_order_seq_cst) >> (core % 64) & 1;
}

// The first core from `first` on, before `end`, whose bit is set; else kNoCore.
template <class W>
CoreIndex next_bit(const MaskWord<W>* mask, CoreIndex first, CoreIndex end) {
  for (unsigned core = first; core < end;) {
    std::uint64_t bits = mask[core / 64].bits.load(std::memory_order_seq_cst) >> (core % 64);
    if (bits) {
      core += static_cast<unsigned>(__builtin_ctzll(bits));
      return core < end ? static_cast<CoreIndex>(core) : kNoCore;
    }
    core = (core / 64 + 1) * 64;
  }
  return kNoCore;
}

// The same of those for which `is_it(core)`.
template <class W, class IsIt>
CoreIndex next_bit(const MaskWord<W>* mask, CoreIndex first, CoreIndex end, IsIt&& is_it) {
  CoreIndex core = next_bit(mask, first, end);
  while (core != kNoCore && !is_it(core))
    core = next_bit(mask, static_cast<CoreIndex>(core + 1), end);
  return core;
}

// The first of those on the NUMA node of `home`, then of all.
template <class W, class IsIt>
CoreIndex nearest_bit(const LedgerTables<W>& t, const MaskWord<W>* mask, CoreIndex home,
                      IsIt&& is_it) {
  const CoreInfo& info = t.info[home];
  CoreIndex found = next_bit(mask, info.node_first, info.node_end, is_it);
  if (found == kNoCore) found = next_bit(mask, info.node_end, t.n_cores, is_it);
  if (found == kNoCore) found = next_bit(mask, CoreIndex{0}, info.node_first, is_it);
  return found;
}

}  // namespace roost

// Looks at times where the ranks of the instance sit.
#include "sched/own_seat.h"

#include "sched/self.h"

namespace roost {
namespace {

constinit Rank own_rank;

// Who yields. Several threads do once another one than the first has.
constexpr ThreadIndex kSeveral = kNoThread - 1;
constinit std::atomic<ThreadIndex> yielder{kNoThread};

// By the one that yields.
constexpr Nanoseconds kBetweenLooks = 10'000'000;
CoreIndex seat;
Nanoseconds looked;

CoreIndex find_seat() {
  const Segment& segment = runtime_segment();
  Seating seating(own_rank);
  for (ProcessIndex i = 0; i < segment.header->n_processes; ++i) {
    const ProcessSlot<RealWorld>& slot = segment.processes[i];
    if (process_state(slot.state.load(std::memory_order_acquire)) == ProcessState::live)
      seating.add(Rank::from(slot.rank.load(std::memory_order_relaxed)));
  }
  return seating.seat(segment.header->n_cores);
}

bool yields_alone() {
  ThreadIndex first = yielder.load(std::memory_order_relaxed);
  if (first == self.index) return true;
  if (first == kNoThread &&
      yielder.compare_exchange_strong(first, self.index, std::memory_order_relaxed))
    return true;
  if (first != kSeveral) yielder.store(kSeveral, std::memory_order_relaxed);
  return false;
}

}  // namespace

void runtime_is_rank(Rank rank) { own_rank = rank; }

void seat_bind() {
  runtime_segment().processes[runtime_process()].rank.store(own_rank.word(),
                                                            std::memory_order_relaxed);
  yielder.store(kNoThread, std::memory_order_relaxed);
  seat = kNoCore;
  looked = 0;
}

CoreIndex own_seat() {
  if (__builtin_expect(own_rank.count == 0, 1) || !yields_alone()) return kNoCore;
  // When it was granted its core, which is as good as now.
  Nanoseconds now = self.record->granted_ns;
  if (now - looked > kBetweenLooks) {
    looked = now;
    seat = find_seat();
  }
  return seat;
}

}  // namespace roost

// How regions' members wait, remembered by their functions.
#include "omp/learned.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "omp/team.h"
#include "ult/host.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

// Several threads may have it at once: counts of theirs may get lost.
struct Remembered {
  std::atomic<const void*> function;
  std::atomic<Waiting> waiting;
  // Polling and blocking ones, which may have waited but once: how many regions from now one is
  // tried as for the first time, and how many it was.
  std::atomic<std::uint32_t> retry_in, patience;
  std::atomic<bool> computes;
  // Where that was found wrong: for how many regions it is not believed again, and how many it was.
  std::atomic<std::uint32_t> disbelief, last_disbelief;
  std::atomic<std::uint32_t> awaited;  // regions in a row that ended with the last call begun

  void begin_anew();
  void set(Waiting as);
  void learn_computing(const Team& team);
};

// By a hash of the function; a collision forgets the older one.
constinit Remembered remembered[64] = {};

Remembered& place_of(const void* function) {
  auto bits = reinterpret_cast<std::uintptr_t>(function);
  return remembered[(bits * 0x9e3779b97f4a7c15u) >> 58];
}

// Null: nothing is remembered of it.
Remembered* find(const void* function) {
  Remembered& place = place_of(function);
  return place.function.load(std::memory_order_relaxed) == function ? &place : nullptr;
}

void remember(const void* function, Waiting waiting) {
  Remembered& place = place_of(function);
  bool known = place.function.load(std::memory_order_relaxed) == function;
  if (!known) place.begin_anew();
  place.set(waiting);
  if (!known) place.function.store(function, std::memory_order_relaxed);
}

void Remembered::begin_anew() {
  patience.store(0, std::memory_order_relaxed);
  computes.store(false, std::memory_order_relaxed);
  disbelief.store(0, std::memory_order_relaxed);
  last_disbelief.store(0, std::memory_order_relaxed);
  awaited.store(0, std::memory_order_relaxed);
}

void Remembered::set(Waiting as) {
  constexpr std::uint32_t kFirst = 1024, kLast = 1 << 20;  // regions
  if (as >= Waiting::polling) {
    std::uint32_t before = patience.load(std::memory_order_relaxed);
    std::uint32_t next = !before ? kFirst : before < kLast ? 2 * before : before;
    patience.store(next, std::memory_order_relaxed);
    retry_in.store(next, std::memory_order_relaxed);
  }
  waiting.store(as, std::memory_order_relaxed);
}

bool count_down(std::atomic<std::uint32_t>& counter) {
  std::uint32_t left = counter.load(std::memory_order_relaxed);
  if (left) counter.store(left - 1, std::memory_order_relaxed);
  return left != 0;
}

// Members that were taken to compute, and kept others all the same for longer than one does: they
// wait for those. Each such region takes long, so it is seldom tried again.
void Remembered::learn_computing(const Team& team) {
  constexpr std::uint32_t kFirst = 64, kLast = 1 << 20;  // regions
  if (!team.computes.load(std::memory_order_relaxed)) return;
  if (!computes.load(std::memory_order_relaxed)) {
    if (!count_down(disbelief)) computes.store(true, std::memory_order_relaxed);
  } else if (team.kept.load(std::memory_order_relaxed)) {
    std::uint32_t before = last_disbelief.load(std::memory_order_relaxed);
    std::uint32_t next = std::clamp(4 * before, kFirst, kLast);
    last_disbelief.store(next, std::memory_order_relaxed);
    disbelief.store(next, std::memory_order_relaxed);
    computes.store(false, std::memory_order_relaxed);
  }
}

// Whether members that did one thing after the other until the last one had begun waited for it, as
// that ended the region.
bool was_awaited(const Team& team) {
  // Of each core's members in turn: all have to see it.
  constexpr Nanoseconds kAtOnce = 5'000'000;
  Nanoseconds last_due = team.last_due.load(std::memory_order_relaxed);
  return last_due && ult::kernel::now() - last_due < kAtOnce * (1 + team.size / ult::host::cores());
}

// In three regions in a row for 64, 128 and 256 ms: hardly by chance. `known`: what was remembered
// of the function before.
constexpr std::uint32_t kAwaitedForSure = 3;

void learn_awaited(const Team& team, Remembered* known) {
  if (!was_awaited(team)) {
    if (known && known->awaited.load(std::memory_order_relaxed))
      known->awaited.store(0, std::memory_order_relaxed);
    return;
  }
  if (!known) remember(team.region.function, Waiting::calm);
  Remembered& place = place_of(team.region.function);
  std::uint32_t in_a_row = place.awaited.load(std::memory_order_relaxed) + 1;
  place.awaited.store(in_a_row, std::memory_order_relaxed);
  if (in_a_row >= kAwaitedForSure) place.set(Waiting::blocking);
}

}  // namespace

void learn_waiting(const Team& team) {
  const void* function = team.region.function;
  if (team.unseen) remember(function, Waiting::calm);
  if (!team.light.load(std::memory_order_relaxed)) return;
  Remembered* known = find(function);
  Waiting before = known ? known->waiting.load(std::memory_order_relaxed) : Waiting::unseen;
  bool spins = team.spins.load(std::memory_order_relaxed);
  bool spun = before == Waiting::spinning || before == Waiting::polling;
  if (team.blocks.load(std::memory_order_relaxed)) {
    remember(function, Waiting::blocking);
  } else if ((spins || spun) && team.kept.load(std::memory_order_relaxed)) {
    remember(function, Waiting::polling);
  } else if (spins && before != Waiting::polling) {
    remember(function, Waiting::spinning);
  }
  if (known) known->learn_computing(team);
  learn_awaited(team, known);
}

Waiting how_waiting(const void* function) {
  const Remembered* known = find(function);
  return known ? known->waiting.load(std::memory_order_relaxed) : Waiting::unseen;
}

Expected what_to_expect(const void* function) {
  Remembered* known = find(function);
  if (!known) return {};
  Expected expected{known->waiting.load(std::memory_order_relaxed)};
  expected.computes =
      expected.waiting == Waiting::calm && known->computes.load(std::memory_order_relaxed);
  expected.awaited = static_cast<std::uint8_t>(
      std::min(known->awaited.load(std::memory_order_relaxed), kAwaitedForSure));
  if (expected.waiting >= Waiting::polling && !count_down(known->retry_in))
    expected.waiting = expected.waiting == Waiting::polling ? Waiting::spinning : Waiting::unseen;
  return expected;
}

}  // namespace roost::omp

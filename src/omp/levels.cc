// Which regions run on OS threads, and what the environment says of levels.
#include "omp/levels.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>

#include "omp/ompt_callbacks.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

// The executable: where its code is, and whether it has thread-local variables.
struct Executable {
  std::uintptr_t low = ~std::uintptr_t{0};
  std::uintptr_t high = 0;
  bool thread_local_data = false;
};

Executable look_at_executable() {
  Executable found;
  auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  if (!headers) return found;
  unsigned long count = getauxval(AT_PHNUM);
  std::uintptr_t bias = 0;
  for (unsigned long i = 0; i < count; ++i)
    if (headers[i].p_type == PT_PHDR)
      bias = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
  for (unsigned long i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_TLS) found.thread_local_data = true;
    if (headers[i].p_type != PT_LOAD) continue;
    std::uintptr_t low = bias + headers[i].p_vaddr;
    std::uintptr_t high = low + headers[i].p_memsz;
    if (low < found.low) found.low = low;
    if (high > found.high) found.high = high;
  }
  return found;
}

// Looked at again by each thread that comes while nobody has finished: the answer is the same.
bool of_executable_with_tls(const void* function) {
  static constinit std::atomic<int> state{0};  // 0: not looked; 1: no; 2: yes
  static constinit std::atomic<std::uintptr_t> low{0}, high{0};
  if (!state.load(std::memory_order_acquire)) {
    Executable found = look_at_executable();
    low.store(found.low, std::memory_order_relaxed);
    high.store(found.high, std::memory_order_relaxed);
    state.store(found.thread_local_data ? 2 : 1, std::memory_order_release);
  }
  if (state.load(std::memory_order_relaxed) != 2) return false;
  auto address = reinterpret_cast<std::uintptr_t>(function);
  return address >= low.load(std::memory_order_relaxed) &&
         address < high.load(std::memory_order_relaxed);
}

// Functions remembered, by hash, with how their members wait; a collision forgets the older one.
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
};
constinit Remembered remembered[64] = {};
Remembered& place_of(const void* function) {
  auto bits = reinterpret_cast<std::uintptr_t>(function);
  return remembered[(bits * 0x9e3779b97f4a7c15u) >> 58];
}

bool is_remembered(const void* function) {
  return place_of(function).function.load(std::memory_order_relaxed) == function;
}

constexpr std::uint32_t kFirstRetry = 1024, kLastRetry = 1 << 20;  // regions

void remember(const void* function, Waiting waiting) {
  Remembered& place = place_of(function);
  if (!is_remembered(function)) {
    place.patience.store(0, std::memory_order_relaxed);
    place.computes.store(false, std::memory_order_relaxed);
    place.disbelief.store(0, std::memory_order_relaxed);
    place.last_disbelief.store(0, std::memory_order_relaxed);
    place.awaited.store(0, std::memory_order_relaxed);
  }
  if (waiting >= Waiting::polling) {
    std::uint32_t before = place.patience.load(std::memory_order_relaxed);
    std::uint32_t patience = !before ? kFirstRetry : before < kLastRetry ? 2 * before : before;
    place.patience.store(patience, std::memory_order_relaxed);
    place.retry_in.store(patience, std::memory_order_relaxed);
  }
  place.waiting.store(waiting, std::memory_order_relaxed);
  place.function.store(function, std::memory_order_relaxed);
}

// Counts of several threads at once may get lost.
bool count_down(std::atomic<std::uint32_t>& counter) {
  std::uint32_t left = counter.load(std::memory_order_relaxed);
  if (left) counter.store(left - 1, std::memory_order_relaxed);
  return left != 0;
}

// Members that were taken to compute, and kept others all the same for longer than one does: they
// wait for those. Each such region takes long, so it is seldom tried again.
void learn_computing(const Team& team) {
  constexpr std::uint32_t kFirst = 64, kLast = 1 << 20;  // regions
  const void* function = team.region.function;
  if (!team.computes.load(std::memory_order_relaxed) || !is_remembered(function)) return;
  Remembered& place = place_of(function);
  if (!place.computes.load(std::memory_order_relaxed)) {
    if (!count_down(place.disbelief)) place.computes.store(true, std::memory_order_relaxed);
  } else if (team.kept.load(std::memory_order_relaxed)) {
    std::uint32_t before = place.last_disbelief.load(std::memory_order_relaxed);
    std::uint32_t next = std::clamp(4 * before, kFirst, kLast);
    place.last_disbelief.store(next, std::memory_order_relaxed);
    place.disbelief.store(next, std::memory_order_relaxed);
    place.computes.store(false, std::memory_order_relaxed);
  }
}

// Members that did one thing after the other until the last one had begun waited for it, if that
// ended the region, and not by chance.
void learn_awaited(const Team& team) {
  constexpr Nanoseconds kSoon = 30'000'000;
  constexpr std::uint32_t kEnough = 2;
  Nanoseconds last_due = team.last_due.load(std::memory_order_relaxed);
  const void* function = team.region.function;
  bool awaited = last_due && ult::kernel::now() - last_due < kSoon;
  if (awaited && !is_remembered(function)) remember(function, Waiting::calm);
  std::atomic<std::uint32_t>& in_a_row = place_of(function).awaited;
  std::uint32_t before = in_a_row.load(std::memory_order_relaxed);
  if (before || awaited) in_a_row.store(awaited ? before + 1 : 0, std::memory_order_relaxed);
  if (awaited && before + 1 >= kEnough) remember(function, Waiting::blocking);
}

}  // namespace

void learn_waiting(const Team& team) {
  const void* function = team.region.function;
  if (team.unseen) remember(function, Waiting::calm);
  if (!team.light.load(std::memory_order_relaxed)) return;
  Waiting before = how_waiting(function);
  bool spins = team.spins.load(std::memory_order_relaxed);
  bool spun = before == Waiting::spinning || before == Waiting::polling;
  if (team.blocks.load(std::memory_order_relaxed)) {
    remember(function, Waiting::blocking);
  } else if ((spins || spun) && team.kept.load(std::memory_order_relaxed)) {
    remember(function, Waiting::polling);
  } else if (spins && before != Waiting::polling) {
    remember(function, Waiting::spinning);
  }
  learn_computing(team);
  learn_awaited(team);
}

bool computes_for_long(const void* function) {
  return how_waiting(function) == Waiting::calm &&
         place_of(function).computes.load(std::memory_order_relaxed);
}

Waiting how_waiting(const void* function) {
  return is_remembered(function) ? place_of(function).waiting.load(std::memory_order_relaxed)
                                 : Waiting::unseen;
}

Waiting waiting_to_expect(const void* function) {
  Waiting waiting = how_waiting(function);
  if (waiting < Waiting::polling) return waiting;
  if (count_down(place_of(function).retry_in)) return waiting;
  return waiting == Waiting::polling ? Waiting::spinning : Waiting::unseen;
}

void inherit_by_level(Icvs& icvs, unsigned level) {
  const Settings& set = settings();
  if (static_cast<int>(level) < set.n_threads_by_level) icvs.threads = set.threads_by_level[level];
  if (static_cast<int>(level) < set.n_bind_by_level) icvs.bind = set.bind_by_level[level];
}

bool on_os_threads(const Team& team) {
  std::int32_t levels = settings().os_levels;
  if (levels >= 0) return static_cast<std::int32_t>(team.active_level) <= levels;
  if (__builtin_expect(ompt::on(), 0) && ompt::has_tool()) return true;
  return team.active_level == 1 && of_executable_with_tls(team.region.function);
}

}  // namespace roost::omp

// Looks for carriers that are stuck in one strand.
#include "ult/watch.h"

#include <ctime>

#include "ult/carriers.h"
#include "ult/kernel.h"

namespace roost::ult {
namespace {

constexpr long kTick = 2'000'000;       // ns
constexpr unsigned kQuietTicks = 50;    // without light strands before it sleeps
constexpr unsigned kTicksToHelp = 4;    // stuck so long, in spite of being asked
constexpr unsigned kMaxWatched = 1024;  // carriers
constexpr std::size_t kStack = 64 * 1024;

enum : std::uint32_t { kNone, kAwake, kAsleep };
constinit std::atomic<std::uint32_t> state{kNone};

struct Seen {
  std::uint32_t steps;
  unsigned ticks;  // that it has not gone on
};
Seen seen[kMaxWatched];

bool inside_light_batch(const Carrier& carrier) {
  return *static_cast<volatile unsigned char*>(carrier.light) != 0;
}

// Calls that nobody has begun, of any carrier.
bool calls_are_open() {
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n; ++i) {
    for (const std::atomic<Batch*>& slot : carrier_at(i)->open) {
      Batch* batch = slot.load(std::memory_order_acquire);
      if (batch && batch->tickets.left()) return true;
    }
  }
  return false;
}

// One more worker than there are, which finds open calls by itself.
void add_worker() { ensure_workers(workers_count() + 1); }

// Whether there are strands inside light batches.
bool look() {
  bool any = false, help = false;
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n && i < kMaxWatched; ++i) {
    Carrier& carrier = *carrier_at(i);
    Seen& it = seen[i];
    std::uint32_t steps = carrier.steps.load(std::memory_order_relaxed);
    bool stuck = inside_light_batch(carrier) && steps == it.steps && !carrier.sleeper.word.is_set();
    any = any || inside_light_batch(carrier);
    it.steps = steps;
    it.ticks = stuck ? it.ticks + 1 : 0;
    if (!stuck) continue;
    if (it.ticks <= kTicksToHelp) host::suspect(carrier.thread.load(std::memory_order_relaxed));
    if (it.ticks == kTicksToHelp) help = true;
  }
  if (help && calls_are_open()) add_worker();
  return any;
}

void* watch_main(void*) {
  host::leave_scheduling();
  for (unsigned quiet = 0;;) {
    timespec tick{0, kTick};
    nanosleep(&tick, nullptr);
    quiet = look() ? 0 : quiet + 1;
    if (quiet < kQuietTicks) continue;
    // [watch-1] A batch opened after this wakes it; one opened before is seen by this look.
    state.store(kAsleep, std::memory_order_seq_cst);
    if (look()) state.store(kAwake, std::memory_order_relaxed);
    while (state.load(std::memory_order_acquire) == kAsleep) kernel::futex_wait(&state, kAsleep);
    quiet = 0;
  }
}

}  // namespace

void watch() {
  std::uint32_t now = state.load(std::memory_order_relaxed);  // [watch-1] after a fence of show()
  if (__builtin_expect(now == kAwake, 1)) return;
  if (!state.compare_exchange_strong(now, kAwake, std::memory_order_seq_cst)) return;
  if (now == kAsleep) kernel::futex_wake_one(&state);
  if (now == kNone && !host::start_thread(watch_main, nullptr, kStack))
    state.store(kNone, std::memory_order_relaxed);  // the system is out of threads: asked again
}

void watch_after_fork() { state.store(kNone, std::memory_order_relaxed); }

}  // namespace roost::ult

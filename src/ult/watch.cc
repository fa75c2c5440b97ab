// Looks for carriers that are stuck in one strand.
#include "ult/watch.h"

#include <ctime>

#include "ult/carriers.h"
#include "ult/kernel.h"

namespace roost::ult {
namespace {

constexpr long kTick = 2'000'000;               // ns
constexpr unsigned kQuietTicks = 50;            // without light strands before it sleeps
constexpr Nanoseconds kSuspicious = 1'000'000;  // CPU time a strand has used at a stretch: asked
constexpr Nanoseconds kHopeless = 8'000'000;    // and where asking has not helped
constexpr unsigned kMaxWatched = 1024;          // carriers
constexpr std::size_t kStack = 64 * 1024;

enum : std::uint32_t { kNone, kAwake, kAsleep };
constinit std::atomic<std::uint32_t> state{kNone};

// A carrier that has not gone on: since which CPU time of its thread. One that had no CPU is not
// stuck.
struct Seen {
  std::uint32_t steps;
  Nanoseconds since;
  bool helped;
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
  bool any = false;
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n && i < kMaxWatched; ++i) {
    Carrier& carrier = *carrier_at(i);
    if (!inside_light_batch(carrier)) continue;
    any = true;
    Seen& it = seen[i];
    std::uint32_t steps = carrier.steps.load(std::memory_order_relaxed);
    Nanoseconds used = kernel::cpu_time(carrier.tid);
    if (steps != it.steps) it = {steps, used, false};
    Nanoseconds stuck = used - it.since;
    if (stuck < kSuspicious || used < it.since) continue;
    if (stuck < kHopeless) {
      host::suspect(carrier.thread.load(std::memory_order_relaxed));
    } else if (!it.helped && calls_are_open()) {
      it.helped = true;
      add_worker();
    }
  }
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

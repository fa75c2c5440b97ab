// The summary of a process for `roost run --stats`, written without stdio.
#include "preload/stats.h"

#include "base/text.h"
#include "os/sys.h"
#include "preload/spin_site.h"
#include "preload/trap.h"
#include "sched/runtime.h"

namespace roost {
void print_stats(const Segment& segment) {
  pid_t pid = os::getpid();
  std::uint64_t sums[kCounters] = {};
  std::uint64_t threads = 0;
  const ProcessSlot<RealWorld>* slot = nullptr;
  if (self.record) slot = &segment.processes[self.record->process];
  for (ThreadIndex i = 0; slot && i < segment.header->n_threads; ++i) {
    if (!(segment.thread_bits[i / 64].load(std::memory_order_relaxed) >> (i % 64) & 1)) continue;
    const auto& record = segment.threads[i];
    if (record.process != self.record->process) continue;
    for (int k = 0; k < kCounters; ++k) sums[k] += record.counters.*kCounterList[k].value;
    ++threads;
  }
  for (int k = 0; slot && k < kCounters; ++k)
    sums[k] += slot->retired[k].load(std::memory_order_relaxed);
  Text<512> text("roost: process ");
  text << static_cast<unsigned>(pid) << ": threads " << threads;
  for (int k = 0; k < kCounters; ++k) text << ", " << kCounterList[k].name << ' ' << sums[k];
  text << ", loops rewritten " << rewritten_loops() << ", restored " << restored_loops()
       << ", traps " << trap_count() << '\n';
  os::write(2, text.c_str(), text.length());
}

}  // namespace roost

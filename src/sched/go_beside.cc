// Who goes on beside the owners of cores, and where there is a place.
#include "sched/go_beside.h"

#include <algorithm>
#include <iterator>

#include "os/sys.h"
#include "sched/grant_wait.h"
#include "sched/keeper.h"
#include "sched/runtime_trace.h"

namespace roost {
namespace {

Nanoseconds longest;  // run of one that may go beside; 0: none may

bool all_cores_are_busy() {
  const SegmentHeader& header = *runtime_segment().header;
  return next_bit(header.idle, 0, header.n_cores) == kNoCore;
}

bool is_there(ThreadIndex thread) {
  const Segment& segment = runtime_segment();
  return thread < segment.header->n_threads &&
         is_at_large(segment.threads[thread].state.load(std::memory_order_relaxed));
}

// At the core where the kernel woke the caller.
bool take_place() {
  Nanoseconds now = os::now();
  auto& places = runtime_segment().cores[current_core()].beside;
  return std::any_of(std::begin(places), std::end(places),
                     [&](auto& word) { return PlaceBeside(word).take(self.index, now, is_there); });
}

}  // namespace

void beside_bind(const Policy& policy) {
  constexpr Nanoseconds kStandard = 500'000;
  int parameter = find_parameter(policy, "beside");
  longest = parameter < 0 ? kStandard : runtime_segment().header->parameters[parameter];
}

bool go_beside() {
  if (self.beside) return true;  // since a handler that interrupted the wait
  if (has_core() || !self.runs.are_brief() || !all_cores_are_busy() || !take_place()) return false;
  be_at_large(*self.record);
  if (self.record->pinned_to != kNoCore) unpin_self();
  self.loose = self.beside = true;
  ++self.record->counters.beside;
  trace::record({.kind = trace::Kind::beside});
  keeper_start_unless_led();
  return true;
}

// Where all cores are busy the kernel may run others in between, so its CPU time counts.
void begin_run() {
  if (!longest) return;
  bool shared = self.runs.want_cpu_time() && all_cores_are_busy();
  self.runs.begin(os::now(), shared ? os::thread_cpu_time() : 0);
}

void end_run() {
  self.beside = false;
  if (longest) self.runs.end(longest, os::now(), os::thread_cpu_time);
}

}  // namespace roost

// Reads a snapshot off a segment. Nothing in there is trusted to be in range.
#include "cli/snapshot.h"

#include <cstring>
#include <numeric>

#include "cli/instance.h"
#include "cli/settings.h"
#include "os/sys.h"
#include "sched/ledger_tables.h"
#include "sched/policy_file.h"
#include "segment/thread_state.h"

namespace roost::cli {
namespace {

template <std::size_t capacity>
std::string bounded(const char (&text)[capacity]) {
  return std::string(text, strnlen(text, capacity));
}

void count_thread(const ThreadRecord<RealWorld>& record, Activity& activity) {
  auto state = static_cast<std::size_t>(state_of(record.state.load(std::memory_order_relaxed)));
  if (state == 0 || state > activity.threads.size()) return;
  ++activity.threads[state - 1];
  for (std::size_t i = 0; i < std::size(kCounterList); ++i)
    activity.counters[i] += record.counters.*kCounterList[i].value;
}

void add_retired(const std::atomic<std::uint64_t> (&retired)[kCounters], Activity& activity) {
  for (std::size_t i = 0; i < std::size(retired); ++i) {
    activity.counters[i] += retired[i].load(std::memory_order_relaxed);
  }
}

std::vector<Activity> count_threads(const Segment& segment) {
  std::vector<Activity> of_process(kMaxProcesses);
  for_each_thread(segment, [&](ThreadIndex, const ThreadRecord<RealWorld>& record) {
    ProcessIndex process = record.process;
    if (process < kMaxProcesses) count_thread(record, of_process[process]);
  });
  return of_process;
}

}  // namespace

std::uint64_t Activity::all_threads() const {
  return std::accumulate(threads.begin(), threads.end(), std::uint64_t{0});
}

Activity& Activity::operator+=(const Activity& other) {
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i] += other.threads[i];
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += other.counters[i];
  return *this;
}

InstanceSnapshot take_snapshot(const Segment& segment) {
  const SegmentHeader& header = *segment.header;
  InstanceSnapshot snapshot;
  snapshot.name = bounded(header.instance);
  snapshot.policy = bounded(header.policy);
  for (CoreIndex core = 0; core < header.n_cores; ++core) {
    if (has_bit(header.contended, core)) snapshot.contended.set(segment.core_info[core].os_cpu);
  }
  snapshot.leaves_loops = header.leave_loops.load(std::memory_order_relaxed) != 0;
  snapshot.pinning = kPinModeNames[static_cast<unsigned>(header.pin_mode)];
  snapshot.cpus = cpus_of(segment);
  PolicyFileError unknown;
  if (const Policy* policy = policy_of_instance(header, true, unknown)) {
    for (unsigned i = 0; i < policy->n_parameters; ++i) {
      const PolicyParameter& parameter = policy->parameters[i];
      snapshot.parameters.emplace_back(parameter.name,
                                       format_parameter(parameter, header.parameters[i]));
    }
  }
  std::vector<Activity> of_process = count_threads(segment);
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot<RealWorld>& slot = segment.processes[i];
    ProcessState state = process_state(slot.state.load(std::memory_order_acquire));
    // One that died, or was replaced by exec, is only waiting to be cleaned up after.
    if (!is_taken(state) || state == ProcessState::dead) continue;
    add_retired(slot.retired, of_process[i]);
    snapshot.total += of_process[i];
    if (!os::process_alive(slot.pid, slot.start_time)) continue;
    snapshot.processes.push_back({slot.pid, bounded(slot.command), of_process[i],
                                  slot.loops.load(std::memory_order_relaxed)});
  }
  add_retired(header.retired, snapshot.total);
  snapshot.reclaimed = header.reclaimed.load(std::memory_order_relaxed);
  snapshot.unmanaged = header.unmanaged.load(std::memory_order_relaxed);
  snapshot.last_unmanaged = bounded(header.unmanaged_name);
  return snapshot;
}

}  // namespace roost::cli

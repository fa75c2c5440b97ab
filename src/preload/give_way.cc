// The yields to the kernel, which runs threads beside the owners of cores.
#include "preload/give_way.h"

#include "base/kernel_yields.h"
#include "base/ticks.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/watchdog.h"

namespace roost {
namespace {

constinit thread_local KernelYields kernel_yields __attribute__((tls_model("initial-exec")));

}  // namespace

void give_way() {
  if (!kernel_yields.is_due(ticks())) return;
  os::yield();
  kernel_yields.returned(ticks());
}

void give_way_to_those_at_large() {
  if (runtime_segment().header->at_large.load(std::memory_order_relaxed)) give_way();
}

void give_way_to_siblings_at_large() {
  auto& process = runtime_segment().processes[runtime_process()];
  Nanoseconds seen = process.at_large_ns.load(std::memory_order_relaxed);
  if (self.record->granted_ns < seen + 2 * kBusyTick) give_way();
}

}  // namespace roost

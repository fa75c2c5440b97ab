// The public calls for light threads, and the way into their runtime.
#include "preload/light.h"

#include <errno.h>

#include "os/sys.h"
#include "preload/nudge.h"
#include "preload/public_api.h"
#include "preload/real.h"
#include "sched/runtime.h"

namespace roost {

constinit thread_local unsigned char roost_light = 0;

namespace {

std::atomic<int (*)()> let_other_run{nullptr};
std::atomic<std::uint64_t> text_begins{0}, text_ends{0};

// Rounds of siblings in a row before others get the core.
constexpr unsigned char kRounds = 32;
constinit thread_local unsigned char rounds = 0;

}  // namespace

bool let_light_sibling_run() {
  if (!roost_light) return false;
  int (*run)() = let_other_run.load(std::memory_order_acquire);
  if (!run) return false;
  if (++rounds % kRounds == 0 && roost_others_wait()) return false;
  return run() == 1;
}

bool in_light_runtime(std::uint64_t address) {
  return address >= text_begins.load(std::memory_order_relaxed) &&
         address < text_ends.load(std::memory_order_relaxed);
}

ROOST_EXPORT int roost_light_threads(int (*run)(), const void* text, const void* text_end) {
  if (!runtime_active()) return -ENOTCONN;
  int (*none)() = nullptr;
  if (let_other_run.load(std::memory_order_relaxed)) return -EBUSY;
  text_begins.store(reinterpret_cast<std::uint64_t>(text), std::memory_order_relaxed);
  text_ends.store(reinterpret_cast<std::uint64_t>(text_end), std::memory_order_relaxed);
  return let_other_run.compare_exchange_strong(none, run, std::memory_order_release) ? 0 : -EBUSY;
}

ROOST_EXPORT unsigned char* roost_light_flag() { return &roost_light; }

ROOST_EXPORT int roost_suspect(roost_thread thread) {
  if (!runtime_active()) return -ENOTCONN;
  ThreadIndex index;
  if (!find_handle(thread, index)) return -ESRCH;
  const auto& record = runtime_segment().threads[index];
  if (record.process != runtime_process()) return -ESRCH;
  int signal = nudge_signal();
  if (!signal) return -ENOTSUP;
  os::tgkill(os::getpid(), record.tid.load(std::memory_order_relaxed), signal);
  return 0;
}

}  // namespace roost

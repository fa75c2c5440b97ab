// The summary of a process for `roost run --stats`, written without stdio.
#include "preload/stats.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "os/sys.h"
#include "preload/blas_width.h"
#include "preload/spin_site.h"
#include "preload/trap.h"
#include "sched/runtime.h"

namespace roost {
namespace {

// Standard error as the process found it: programs close it before they end (GNU's coreutils), or
// open another file in its place.
int standard_error = 2;
struct stat its_file;

}  // namespace

void keep_standard_error() {
  constexpr long kFirst = 200;  // out of the way of programs that count on low numbers
  long kept = os::raw_syscall(SYS_fcntl, 2, F_DUPFD_CLOEXEC, kFirst);
  if (kept < 0 || fstat(static_cast<int>(kept), &its_file) != 0) return;
  standard_error = static_cast<int>(kept);
}

void print_stats(const Segment& segment) {
  struct stat now;
  if (fstat(standard_error, &now) != 0 || now.st_ino != its_file.st_ino ||
      now.st_dev != its_file.st_dev) {
    return;
  }
  pid_t pid = os::getpid();
  std::uint64_t sums[kCounters] = {};
  const ProcessSlot<RealWorld>* slot = nullptr;
  if (self.record) slot = &segment.processes[self.record->process];
  if (slot) {
    for_each_thread(segment, [&](ThreadIndex, const ThreadRecord<RealWorld>& record) {
      if (record.process != self.record->process) return;
      for (int k = 0; k < kCounters; ++k) sums[k] += record.counters.*kCounterList[k].value;
    });
  }
  for (int k = 0; slot && k < kCounters; ++k)
    sums[k] += slot->retired[k].load(std::memory_order_relaxed);
  Text<512> text("roost: process ");
  text << static_cast<unsigned>(pid);
  if (slot) {
    text << " (";
    text.append(slot->command, sizeof slot->command);
    text << ')';
  }
  text << ": threads " << (slot ? runtime_threads_so_far() : 0u);
  for (int k = 0; k < kCounters; ++k) text << ", " << kCounterList[k].name << ' ' << sums[k];
  text << ", loops rewritten " << rewritten_loops() << ", restored " << restored_loops()
       << ", traps " << trap_count();
  if (BlasCounts blas = blas_counts(); blas.calls) {
    text << ", BLAS calls " << blas.calls << ", in fewer pieces " << blas.in_fewer_pieces;
  }
  text << '\n';
  os::write(standard_error, text.c_str(), text.length());
}

}  // namespace roost

// LLVM's entry points: cancellation. (__kmpc_cancel_barrier is an ordinary barrier that says
// whether the region was cancelled: omp/kmpc_parallel.cc.)
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/task_cancel.h"

namespace roost::omp {
namespace {

enum : std::int32_t { kParallel = 1, kLoop = 2, kSections = 3, kTaskgroup = 4 };

std::uint32_t bit_of(std::int32_t kind) {
  return kind == kLoop ? kCancelLoop : kind == kSections ? kCancelSections : kCancelParallel;
}

int flag_of(std::int32_t kind) {
  return kind == kLoop        ? ompt::kCancelsLoop
         : kind == kSections  ? ompt::kCancelsSections
         : kind == kTaskgroup ? ompt::kCancelsTaskgroup
                              : ompt::kCancelsParallel;
}

}  // namespace

extern "C" {

// Both return whether the caller has to leave the construct.
ROOST_EXPORT std::int32_t __kmpc_cancel(Ident*, std::int32_t, std::int32_t kind) {
  if (!cancellation()) return 0;
  ompt::Entry entry;
  Member& member = self();
  if (kind == kTaskgroup) {
    if (!member.task->group) return 0;
    cancel_taskgroup(member);
  } else {
    cancel_construct(member, bit_of(kind));
  }
  ompt::cancel(member, flag_of(kind) | ompt::kCancelActivated);
  return 1;
}
ROOST_EXPORT std::int32_t __kmpc_cancellationpoint(Ident*, std::int32_t, std::int32_t kind) {
  if (!cancellation()) return 0;
  ompt::Entry entry;
  Member& member = self();
  bool found =
      kind == kTaskgroup ? is_cancelled(*member.task) : construct_cancelled(member, bit_of(kind));
  if (found) ompt::cancel(member, flag_of(kind) | ompt::kCancelDetected);
  return found;
}

}  // extern "C"
}  // namespace roost::omp

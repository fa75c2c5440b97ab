// GCC's entry points: cancellation.
#include "omp/export.h"
#include "omp/task_cancel.h"

namespace roost::omp {
namespace {

// What `which` says: omp_cancel_kind as gcc has it.
enum : int { kParallel = 1, kLoop = 2, kSections = 4, kTaskgroup = 8 };

int flag_of(int which) {
  if (which & kLoop) return ompt::kCancelsLoop;
  if (which & kSections) return ompt::kCancelsSections;
  return which & kTaskgroup ? ompt::kCancelsTaskgroup : ompt::kCancelsParallel;
}

bool cancelled(const Member& member, int which) {
  if (which & kLoop) return construct_cancelled(member, kCancelLoop);
  if (which & kSections) return construct_cancelled(member, kCancelSections);
  // Cancelling the region cancels its tasks too.
  if (which & kTaskgroup) return is_cancelled(*member.task);
  return construct_cancelled(member, kCancelParallel);
}

bool at_cancellation_point(int which) {
  Member& member = self();
  if (!cancelled(member, which)) return false;
  ompt::cancel(member, flag_of(which) | ompt::kCancelDetected);
  return true;
}

}  // namespace

extern "C" {

ROOST_EXPORT bool GOMP_cancellation_point(int which) {
  if (!cancellation()) return false;
  ompt::Entry entry;
  return at_cancellation_point(which);
}

// `condition`: of the if clause.
ROOST_EXPORT bool GOMP_cancel(int which, bool condition) {
  if (!cancellation()) return false;
  ompt::Entry entry;
  if (!condition) return at_cancellation_point(which);
  Member& member = self();
  if (which & kLoop) {
    cancel_construct(member, kCancelLoop);
  } else if (which & kSections) {
    cancel_construct(member, kCancelSections);
  } else if (which & kTaskgroup) {
    cancel_taskgroup(member);
  } else {
    cancel_construct(member, kCancelParallel);
  }
  ompt::cancel(member, flag_of(which) | ompt::kCancelActivated);
  return true;
}

}  // extern "C"
}  // namespace roost::omp

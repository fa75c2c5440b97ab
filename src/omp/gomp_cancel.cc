// GCC's entry points: cancellation.
#include "omp/export.h"
#include "omp/task_cancel.h"

namespace roost::omp {
namespace {

// What `which` says: omp_cancel_kind as gcc has it.
enum : int { kParallel = 1, kLoop = 2, kSections = 4, kTaskgroup = 8 };

}  // namespace

extern "C" {

ROOST_EXPORT bool GOMP_cancellation_point(int which) {
  if (!cancellation()) return false;
  Member& member = self();
  if (which & kLoop) return construct_cancelled(member, kCancelLoop);
  if (which & kSections) return construct_cancelled(member, kCancelSections);
  // Cancelling the region cancels its tasks too.
  if (which & kTaskgroup) return is_cancelled(*member.task);
  return construct_cancelled(member, kCancelParallel);
}

// `condition`: of the if clause.
ROOST_EXPORT bool GOMP_cancel(int which, bool condition) {
  if (!cancellation()) return false;
  if (!condition) return GOMP_cancellation_point(which);
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
  return true;
}

}  // extern "C"
}  // namespace roost::omp

// What happens around a fork.
//
// The locks of the library are taken before, so that what they guard is whole in the child. There
// the forking thread is alone: workers, waiting strands of all carriers (its own too: they are
// other OpenMP threads) and hot teams belong to the parent. The caller stays the member it was; a
// child of a member inside a region may open regions of its own, but cannot end the parent's.
#include <pthread.h>

#include "omp/allocators.h"
#include "omp/crew.h"
#include "omp/lock.h"
#include "omp/root.h"
#include "omp/task_memory.h"
#include "omp/team.h"
#include "ult/carrier.h"
#include "ult/in_use.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

// Of the calling thread's forks under way, a bit each: the library was in use.
constinit thread_local unsigned see_use __attribute__((tls_model("initial-exec"))) = 0;

bool sees_use() { return see_use & 1u << ult::LockOverForks::which_fork(); }

void before() {
  ult::LockOverForks::fork_begins();
  unsigned bit = 1u << ult::LockOverForks::which_fork();
  see_use = ult::is_used_at_fork() ? see_use | bit : see_use & ~bit;
  if (!sees_use()) return;
  lock_queues_before_fork();
  lock_roots_before_fork();
  lock_crews_before_fork();
  lock_task_memory_before_fork();
  lock_allocators_before_fork();
  ult::lock_before_fork();
}

void unlock_in_parent() {
  ult::unlock_after_fork();
  unlock_allocators_after_fork();
  unlock_task_memory_after_fork();
  unlock_crews_after_fork(false);
  unlock_roots_after_fork();
  unlock_queues_after_fork();
}

void in_parent() {
  sees_use() ? unlock_in_parent() : ult::blind_fork_is_over();
  ult::LockOverForks::fork_ends();
}

void reset_in_child() {
  ult::reset_after_fork();
  unlock_allocators_after_fork();
  unlock_task_memory_after_fork();
  unlock_crews_after_fork(true);
  forget_waiters_after_fork();
  settings_after_fork();
  ompt::look_again_after_fork();
  keep_own_root_after_fork();
}

void in_child() {
  ult::forget_blind_forks();
  if (sees_use()) reset_in_child();
  ult::LockOverForks::fork_ends();
}

// As the library is loaded, so that no fork is missed. After Roost's, which is loaded before: its
// threads may go on until our locks are taken.
[[gnu::constructor]] void watch_forks() { pthread_atfork(before, in_parent, in_child); }

}  // namespace
}  // namespace roost::omp

// Threads under a real-time policy are the kernel's: they run the moment they can, before all
// others, which a queue for cores would not let them.
//
// A thread that has SCHED_FIFO, SCHED_RR or SCHED_DEADLINE, by its own call, its attributes or from
// its creator, runs unmanaged beside the others, as after roost_detach(), and is scheduled again
// once it has another policy. One that is given such a policy by another thread of its process
// leaves before its next wait in the kernel. sched(7).
#pragma once

#include "preload/thread.h"

namespace roost {

// Leaves scheduling, or comes back, as the calling thread's policy has it: one system call. Not
// where it cannot wait (a signal handler that has interrupted Roost, a vfork child).
void follow_own_policy();
// Whether the thread that begins here has such a policy and shall not be attached. No call unless a
// thread of the process ever had one.
bool begins_realtime();
// Before a thread is made with these attributes (may be null).
void note_policy_of(const pthread_attr_t* attributes);
// Before a wait in the kernel: another thread may have changed this one's policy.
inline void follow_changed_policy() {
  Thread* t = this_thread();
  if (t && __builtin_expect(t->policy_changed.load(std::memory_order_relaxed), 0))
    follow_own_policy();
}
// In the child of a fork, which has been attached.
void follow_policy_after_fork();
// Before a call that sets the policy, or what belongs to it, of `tid` (0: the calling thread).
void note_policy_set(std::int32_t tid);
// After a call that has changed the policy of `tid` (0: the calling thread).
void policy_changed(std::int32_t tid);

}  // namespace roost

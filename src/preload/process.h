// The life of a managed process: start, fork, exec, spawn, exit.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include "segment/segment.h"

namespace roost {

// Joins the instance of `config`, with the caller as the first managed thread. 0, -errno or a
// SegmentError.
int start_process(const SegmentConfig& config);

// Makes an exec by `exec(data)`, which returns only if it fails, as execve() would.
long exec_in_kernel(long (*exec)(const void*), const void* data);

// What comes before the end of the process. Does nothing in a child that shares its memory.
void stop_process();

// False in a child that shares the parent's memory or was made without fork handlers (vfork,
// _Fork).
bool in_managed_process();

// The same for the caller's waits, by what is in memory: a call of the kernel for each of them is
// 2 to 7 % of what they cost. True as well in a child by vfork whose making nobody saw (an inline
// system call where there is no trap): its parent waits for it, and lends it its record.
bool waits_in_managed_process();

// Whether what clone(2) makes with those flags is a process in its parent's memory.
inline bool shares_memory_as_process(std::uint64_t flags) {
  return (flags & CLONE_VM) && !(flags & CLONE_THREAD);
}
// Such a one is about to be made: from now on the kernel is asked.
void processes_may_share_memory();

// In a child with memory of its own that was made without fork handlers: it runs unmanaged from now
// on. (Its thread has the record of the parent's, and would wait there for a core.)
void after_clone_in_child();

// Whether a kernel thread or process id belongs to a living process of this instance.
bool pid_in_instance(pid_t pid);

}  // namespace roost

// The life of a managed process: start, fork, exec, spawn, exit.
#pragma once

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

// In a child with memory of its own that was made without fork handlers: it runs unmanaged from now
// on. (Its thread has the record of the parent's, and would wait there for a core.)
void after_clone_in_child();

// Whether a kernel thread or process id belongs to a living process of this instance.
bool pid_in_instance(pid_t pid);

}  // namespace roost

// Inline system calls: those that objects other than libc issue by an instruction of their own,
// where no symbol can be interposed (libgomp's futex calls first of all).
//
// Syscall User Dispatch (Linux 5.11, x86-64) sends such calls of a thread to a SIGSYS handler.
// Calls that wait, yield or concern affinity are treated there as their wrappers treat them; every
// other is made again from a stub with the program's registers, stack and mask. Libc's text is the
// range of addresses from which calls go through; Roost's own go through by a selector that
// the kernel looks at (os/raw_syscall.h). See docs/design/004-syscall-trap.md.
//
// A trap costs about 3 us, and an ordinary system call of a thread that has it about 60 ns more. So
// threads get it only in a process that creates threads and has an object with such calls, or on
// request (`roost run --trap`).
#pragma once

#include <cstdint>

namespace roost {

enum class TrapMode : std::uint8_t { off, automatic, on };

// Before the process has its first managed thread.
void trap_configure(TrapMode mode);
// Whether the trap is used, or may yet be: SIGSYS is ours then.
bool trap_configured();
// Whether the inline calls of every managed thread are seen now: trapped, or there is no object
// that has any.
bool trap_sees_all_threads();

// The calling thread is managed from now on; its inline calls are trapped if the process wants it.
void trap_thread_starts();
// It is no longer, or waits in the cache: they go to the kernel. Undone by trap_thread_starts, or
// trap_thread_resumes if nothing else has changed.
void trap_thread_pauses();
void trap_thread_resumes();
// The thread is about to be detached for good.
void trap_thread_ends();
// Before a thread is created: the objects loaded by now are looked at, if that is still open.
void trap_before_thread();
// In the child of a fork, where the kernel has cleared the trap.
void trap_after_fork();

// The program installs a seccomp filter or a dispatch of its own: from now on the inline calls of
// the whole process are the kernel's, at their own place.
void trap_give_up();

// How many calls of this process were trapped.
std::uint64_t trap_count();

}  // namespace roost

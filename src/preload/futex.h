// The futex system call of the program, by syscall() or inline.
//
// A private futex that is waited on without a timeout waits in the parking lot: whoever wakes it
// makes it READY, which costs one switch where a wait in the kernel costs three (the wake-up, the
// wait for a core, the grant). The lot only makes it fast. Such a waiter is a futex waiter in the
// kernel as well (it sleeps by futex_waitv), so wakers that Roost does not see, and operations it
// leaves to the kernel, reach it too. docs/design/007-futexes-in-the-parking-lot.md.
#pragma once

#include "preload/served_syscall.h"

namespace roost {

// The result as the kernel returns it (-errno).
long serve_futex(const SystemCall&);

// Somebody may wait on private futexes of this process whom Roost does not see (a thread made by
// clone, an unmanaged one, io_uring), or where it does not look (requeued waiters): from now on
// every wake-up is the kernel's too.
void futexes_may_wait_unseen();

}  // namespace roost

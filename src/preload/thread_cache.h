// Kernel threads whose threads of the program have ended, and which wait for the next.
//
// A finished thread's kernel thread can be used again once it is joined or detached; until then it
// keeps the result. Either kind ends for real when nothing has become of it for half a second to a
// second: a program that has no threads left is then seen to have none, by itself (unshare(2)),
// by its children and by others.
#pragma once

#include "preload/lock.h"
#include "preload/thread.h"

namespace roost {

// Guards the cache and each thread's phase, detached flag, joiner and cancellation request.
extern Lock threads_lock;

// Whether there is room for one more. Under threads_lock, as the next two.
bool cache_has_room();
// The thread is finished; its kernel thread is about to wait.
void cache_finished(Thread*);
// A finished thread was joined or detached: its kernel thread is free.
void cache_joined(Thread*);

// One that is free and has such a stack, now the caller's; or null.
Thread* cache_take(std::size_t stack_size, std::size_t guard_size);

// By the thread itself, once it was told to end (Thread::ends). True: it is not in the cache any
// more, and `joined` says whether the Thread is its own to free; else its joiner does that, to whom
// it belongs from now on. False: it was taken for a new thread in time.
bool cache_leave(Thread*, bool& joined);

// By the keeper, at any interval: tells those to end that have waited for long.
void cache_trim();
// Tells all to end. How many there are still.
unsigned cache_end_all();

void cache_after_fork();

}  // namespace roost

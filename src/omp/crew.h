// Crews: the threads that a library makes for one of its calls, and waits for before the call ends.
//
// They are run as members of a region are (omp/team.h): on workers while there are cores to spare,
// else as light threads of the caller. Only for libraries whose threads are known not to care
// whose OS thread they are: what they keep in thread-local variables would be shared.
#pragma once

#include <cstddef>

namespace roost::omp {

// Has `function(argument)` run, for the calling thread (or light thread) to join: its crew lasts
// from the first hand to the last join. What stands for it, or null: there is no Roost instance,
// the crew has 256 hands, or there is no memory. The caller makes a thread then.
extern "C" const void* roost_crew_create(void* (*function)(void*), void* argument);

// 0 if `hand` is none of the caller's crew; else waits for it, sets `result`, if it is not null, to
// what the function has returned, and returns 1.
extern "C" int roost_crew_join(const void* hand, void** result);

// Calls `function` with each of `n` arguments, `stride` bytes apart, and waits for all: the first
// by the caller, the others by a crew. 0, and nothing is called, if there can be no such crew.
extern "C" int roost_crew_run(void* (*function)(void*), void* arguments, std::size_t stride,
                              unsigned n);

// Before a call whose pieces may be a crew: now and then, siblings of the caller that wait by
// spinning go on first. They would else wait for as long as the caller makes one call after the
// other.
extern "C" void roost_crew_pass();

// Before a call of a library that asks for so many threads: a point at which others may go on. How
// many have a core now (ult::cores_at_hand), at most as many as are asked for.
extern "C" unsigned roost_crew_width(unsigned asked);

// OS threads that run hands of others' crews at this moment; -1 if there has been no crew yet. Any
// thread.
extern "C" int roost_crew_helpers();

// Around a fork: nobody changes the list of spare crews meanwhile.
void lock_crews_before_fork();
void unlock_crews_after_fork(bool in_child);

}  // namespace roost::omp

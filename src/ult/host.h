// What carriers ask of whoever schedules their threads: Roost, or the kernel alone.
//
// The library works with and without `roost run`; with it, threads sleep by roost_block() and spin
// only while no thread of the instance waits for a core (include/roost/roost.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ult/sleep_word.h"

#define ROOST_OPTIONAL  // what is not there is null
#include "roost/roost.h"

namespace roost::ult {

// How a carrier's thread sleeps.
struct Sleeper {
  SleepWord<RealWorld> word;
  std::atomic<std::uint32_t> thread{0};  // the roost_thread it waits as, or 0: on the word
};

namespace host {

// Whether there is a Roost instance.
bool with_roost();

// Cores this process may use: the instance's, or those of the affinity mask.
unsigned cores();
// Asks again (after fork, or when the affinity may have changed).
void forget_cores();

// Whether spinning costs somebody a core.
bool others_wait();
// Cores of the instance that no thread has; 0 without one.
unsigned idle_cores();
// Whether threads of other processes own cores, as far as Roost says so.
bool others_have_cores();
// Cores that the caller's work may spread over and nobody else wants: at least 1, its own.
unsigned cores_left_to_it();
// Whether a thread that is woken now finds a core. `active`: carriers of this process that are
// busy.
bool core_to_spare(unsigned active);

// The core that the caller has, or -1 (roost_core).
int own_core();
// The caller's roost_thread, 0 if it has none.
std::uint32_t own_thread();
// Where Roost is told of the calling thread's strands; `own` where it does not schedule the thread.
struct roost_light* light_state(struct roost_light& own);
// Has Roost look whether a thread waits by spinning. False if nobody can.
bool suspect(std::uint32_t thread);
// The same for one that may have no core: it had to share its own.
bool suspect_sharing(std::uint32_t thread);
// Whether a thread could go on and only waits for a core.
bool is_ready(std::uint32_t thread);
// The calling thread runs seldom and may never wait for a core.
void leave_scheduling();
// By the thread itself: sleeps until woken. The caller has announced it and looked once more at
// what it waits for.
void sleep(Sleeper& sleeper);
// By anyone: ends the sleep, if it has begun [sleep-1].
void wake(Sleeper& sleeper);
// A scheduling point: a thread that Roost has made to share its core with another, because it
// passed none for long, queues for one again. About 3 ns. `between`: it is at nothing, and may give
// its core away if it has had it for some time.
void pass_point(bool between);
// The calling thread lets others of the node run, and wants to go on.
void yield();

// Starts a detached thread. False if the system has none.
bool start_thread(void* (*main)(void*), void* argument, std::size_t stack_bytes);

}  // namespace host
}  // namespace roost::ult

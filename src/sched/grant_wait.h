// How a thread that has no core waits until it is granted one: on its idle core, awake in the
// kernel's run queue, asleep. Part of the runtime (runtime_threads.cc); nobody else calls these.
#pragma once

#include "sched/runtime.h"

namespace roost {

// Once the process has joined an instance.
void grant_wait_bind(const Policy& policy);

// That of the CPU where the caller runs, or the last one it had if that is none of the instance's.
CoreIndex current_core();

// The caller, READY, asks for a core. Whoever has to wait makes sure that somebody watches.
void make_self_ready();

// How a wait begins on the core that the caller has left.
enum class IdleCore {
  leaves,   // it soon ends by itself: not there
  spins,    // there, if it is idle
  attends,  // it was released to be attended, and was free then (CoreGrants::release_to_attend)
};
// Of a wait until then, for ever if that is null: `leaves` or `spins`.
IdleCore idle_core_until(const Deadline* deadline);

// Waits until the caller is granted a core. Before that, a deadline, the outside word or (if
// `interruptible`) a handler turns a BLOCKED wait into READY; the core is then still waited for.
Park wait_for_grant(const Deadline* deadline, bool interruptible, OutsideWord* outside = nullptr,
                    IdleCore idle_core = IdleCore::spins);

// The caller, RUNNING on `core`, may run on that core's CPU only (or as the pin mode says).
void pin_self(CoreIndex core);

}  // namespace roost

// Affinity hints, for the wrappers and for syscall().
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace roost {

// Whether `pid` (0: the caller) names a thread whose affinity Roost decides.
bool affinity_is_ours(pid_t pid);
// 0 or a positive errno value.
int set_affinity_hint(pid_t pid, std::size_t bytes, const void* set);
int get_affinity_hint(pid_t pid, std::size_t bytes, void* set);

}  // namespace roost

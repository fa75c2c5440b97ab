// Giving the CPU to threads that the kernel runs beside the owners of cores.
#pragma once

namespace roost {

// The kernel's yield, but for most of many that follow each other and return at once. The calling
// thread's.
void give_way();
// The same if threads at large use CPUs (sched/at_large.h).
void give_way_to_those_at_large();
// The same if some of them are of this process: the caller, which yields, may wait for them.
// [managed]
void give_way_to_siblings_at_large();

}  // namespace roost

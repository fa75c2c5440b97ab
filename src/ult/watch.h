// The watch: a thread that sees to it that light threads get to run beside one that spins.
//
// A strand that waits in a loop of the program's own (a hand-made barrier, a flag) keeps its
// carrier from its siblings, one of which it may be waiting for. While strands run inside batches
// with light members, the watch looks every two milliseconds for carriers that have not gone on to
// something else. Under Roost such a carrier's thread is asked whether it only waits, and if so,
// siblings run at once, and in each round of that loop from then on (roost/roost.h, light threads).
// Without Roost the watch asks itself (ult/interrupt.h), also threads that sleep in the kernel
// while siblings are ready. Where none of that helps and calls have not begun, further workers
// begin them.
#pragma once

namespace roost::ult {

// A batch with light members has been opened. One load if the watch is awake.
void watch();
void watch_after_fork();

}  // namespace roost::ult

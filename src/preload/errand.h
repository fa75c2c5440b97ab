// Calls of libc's that block, made by a helper thread for a light thread that has siblings: those
// run meanwhile (preload/light.h).
#pragma once

namespace roost {

// Has a helper call run(data), and waits for it as light threads wait; errno as the call has left
// it. False if the system has no thread for it: nothing was called. Helpers have every signal
// blocked, so such a call ends by itself only. [managed], can_park().
bool run_errand(void (*run)(void* data), void* data);

void errands_after_fork();

}  // namespace roost

// The signal by which a keeper asks a running thread to look whether it only waits.
#pragma once

namespace roost {

// What is done about threads that wait by spinning while others are READY: nothing but the
// watchdog's share; a yield when a keeper asks; a yield in each round of the loop from then on.
enum class SpinMode { off, preempt, rewrite };

// Takes the signal, if the program has left it at its default. After runtime_start.
void nudges_start(SpinMode mode);
void nudges_after_fork();

}  // namespace roost

// The signal by which a keeper asks a running thread to look whether it only waits.
#pragma once

#include <signal.h>

namespace roost {

// What is done about threads that wait by spinning while others are READY: nothing but the
// watchdog's share; a yield when a keeper asks; a yield in each round of the loop from then on.
enum class SpinMode { off, preempt, rewrite };

// Before runtime_start: to make code changeable the kernel waits for all CPUs, unless the process
// has a single thread still, which it has not once there is a keeper.
void nudges_prepare(SpinMode mode);
// Takes the signal, if the program has left it at its default. After runtime_start.
void nudges_start();
void nudges_after_fork();

// Whether loops in which threads wait will be led through stubs.
bool rewrites_wait_loops();

// The signal, 0 if threads cannot be asked.
int nudge_signal();

// The program sets an action for `signal` by a system call: if it is ours, it is the program's from
// now on.
void nudges_give_up(int signal);
// Answers sigaction(2) in libc's place where the program may go on believing that the default is in
// force; false if the call is libc's to make.
bool nudges_answer(int signal, const struct sigaction* wanted, struct sigaction* before);

}  // namespace roost

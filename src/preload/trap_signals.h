// SIGSYS belongs to the trap: it must never be blocked or ignored while a thread's inline calls are
// trapped, since the kernel then ends the process. The program sees neither.
//
// What the program asks for is remembered and shown to it: its own handler for SIGSYS, which gets
// every SIGSYS that is not ours (seccomp, kill), and whether its thread blocks the signal. A SIGSYS
// sent to a thread that believes to block it is held until it unblocks it.
#pragma once

#include <signal.h>

#include <cstdint>

namespace roost {

// Makes on_sigsys() the process's action for SIGSYS, for good. False if that is not to be had.
bool own_sigsys();
// A SIGSYS that is the program's, in our handler.
void pass_on_sigsys(siginfo_t* info, void* context);

// The calling thread unblocks SIGSYS in the kernel, if it was blocked, and keeps that it believes
// so.
void hide_blocked_sigsys();

// Whether the kernel could read 8 bytes there.
bool readable(long address);

// The kernel's rt_sigaction and rt_sigprocmask as the program means them: user addresses as the
// call takes them (null allowed; what is read must be readable). The kernel's results.
long program_rt_sigaction(int signal, long action, long old);
long program_rt_sigprocmask(int how, long set, long old);
// libc's sigaction, likewise.
int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old);

// `mask` without SIGSYS, in `copy` if it has to be another: for calls that wait with a mask.
// Null stays null.
const sigset_t* wait_mask(const sigset_t* mask, sigset_t& copy);

// A thread's mask as it is handed to another: with SIGSYS if the calling thread believes to block
// it.
std::uint64_t believed_mask(std::uint64_t mask);
// Takes over the belief with a mask, and returns what the kernel may be given.
std::uint64_t take_believed_mask(std::uint64_t mask);

// While it lives the calling thread has the mask, and the process the disposition, that the program
// believes in: around what hands them on (exec, spawn).
class AsTheProgramBelieves {
 public:
  AsTheProgramBelieves();
  ~AsTheProgramBelieves();
  AsTheProgramBelieves(const AsTheProgramBelieves&) = delete;
  AsTheProgramBelieves& operator=(const AsTheProgramBelieves&) = delete;

 private:
  bool blocked_ = false;
  bool ignored_ = false;
};

}  // namespace roost

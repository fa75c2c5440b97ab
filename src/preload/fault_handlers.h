// The program's handlers of SIGSEGV and SIGBUS find an instruction where the program has it.
//
// Where a loop's first instruction has become a jump (spin_site.h), its copy in the stub may fault,
// and handlers may know the instruction by its address, or unwind from it. So from the first such
// change on a handler of ours stands before theirs: it puts the address right and calls them, with
// what the kernel has passed. Flags and mask of the action stay the program's, and what it asks for
// shows its own handlers. One that is set by a system call of the program's own is not led.
#pragma once

#include <signal.h>

namespace roost {

// Before an instruction is moved; any number of times, by any thread.
void lead_fault_handlers();
// Whether there is one.
bool leads_fault_handlers();

// A call of the program's that sets the handler of a signal, or asks for it.
class HandlerChange {
 public:
  explicit HandlerChange(int signal);
  HandlerChange(int signal, sighandler_t wanted);
  // For the kernel.
  sighandler_t to_set() const { return to_set_; }
  // For the program: what was there before, by what the kernel says.
  sighandler_t before(sighandler_t found) const;

 private:
  sighandler_t to_set_ = SIG_DFL;
  sighandler_t before_;
};

}  // namespace roost

// The program's handlers of SIGSEGV and SIGBUS find an instruction where the program has it.
//
// Where a loop's first instruction has become a jump (spin_site.h), its copy in the stub may fault,
// and handlers may know the instruction by its address, or unwind from it. So from the first such
// change on a handler of ours stands before theirs: it puts the address right and calls them, with
// what the kernel has passed. Flags and mask of the action stay the program's, and what it asks for
// shows its own handlers. One that is set by a system call of the program's own is not led.
#pragma once

#include <signal.h>

#include <atomic>
#include <optional>

#include "preload/fork_gate.h"
#include "preload/own_stack.h"

namespace roost {

// Before an instruction is moved; any number of times, by any thread.
void lead_fault_handlers();
// Whether there is one.
bool leads_fault_handlers();

// A call of the program's that sets the handler of a signal, or asks for it. One at a time where a
// handler of ours leads it: what is there is then known by two words.
class HandlerChange {
 public:
  explicit HandlerChange(int signal);
  HandlerChange(const HandlerChange&) = delete;
  HandlerChange& operator=(const HandlerChange&) = delete;
  // What the kernel is to have in place of the one that the program sets.
  sighandler_t lead(sighandler_t wanted) const;
  // What was there before to the program, by what the kernel says.
  sighandler_t before(sighandler_t found) const;

 private:
  struct Alone {
    Alone();
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    BlockSignals blocked;
    Unforked unforked;
  };

  std::atomic<sighandler_t>* led_;  // null: not a signal of faults
  std::optional<Alone> alone_;
  sighandler_t before_ = SIG_DFL;
};

}  // namespace roost

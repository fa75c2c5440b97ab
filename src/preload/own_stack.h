// Stacks of Roost's own for signal handlers, which run on a stack of the program's that may be
// small.
#pragma once

#include <ucontext.h>

#include "os/sys.h"
#include "spin/other_stack.h"

namespace roost {

// The top of one of 64 KiB, null if all are in use; and back.
void* take_own_stack();
void give_own_stack(void* top);
// In a handler on another stack: gives back the one that the thread has left by a jump.
void give_back_left_stack();

// With all signals blocked: calls `function()` on one of them. False if all are in use. Nothing may
// be thrown through it.
template <class Function>
bool on_own_stack(Function function) {
  void* top = take_own_stack();
  if (!top) return false;
  spin::on_stack(top, function);
  give_own_stack(top);
  return true;
}

// Those of libc's own are among them: their handlers would begin where the kernel knows of no
// frame.
inline constexpr std::uint64_t kAllButSigsys = ~os::kTraps;
// In a handler whose action blocks them all: blocks those that the thread itself does.
void set_signal_mask_of(const ucontext_t& interrupted);
// And all again.
void block_all_signals();
// Blocks them while it lives, for any thread.
class BlockSignals {
 public:
  BlockSignals();
  ~BlockSignals();
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  std::uint64_t before_;
};

void own_stacks_after_fork();

}  // namespace roost

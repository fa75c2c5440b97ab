// Stacks of Roost's own for signal handlers, which run on a stack of the program's that may be
// small.
#pragma once

#include <ucontext.h>

namespace roost {

// With all signals blocked: calls `function(data)` on another stack of 32 KiB. False if all are in
// use. Nothing may be thrown through it.
bool call_on_own_stack(void (*function)(void*), void* data);

template <class Function>
bool on_own_stack(Function function) {
  return call_on_own_stack([](void* f) { (*static_cast<Function*>(f))(); }, &function);
}

// In a handler whose action blocks more signals: blocks those that the thread itself does.
void set_signal_mask_of(const ucontext_t& interrupted);

void own_stacks_after_fork();

}  // namespace roost

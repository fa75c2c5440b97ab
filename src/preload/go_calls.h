// The system calls of Go programs, without the trap.
//
// Nearly all system calls of a Go program are made by one instruction, in Syscall6 of its runtime.
// A trap each would cost a server a third of its requests. At a program's start, while it has one
// thread, that instruction becomes a jump; from then on it is asked for each call whether it would
// be trapped, and those that would are served as in the trap, on a stack of their own, as
// goroutines have small ones. docs/design/034-calls-of-go.md
#pragma once

namespace roost {

// In the constructor of a Go program, before its first thread takes a stack.
void go_calls_start();
// For a thread that begins to trap; and one that traps no more and has ended.
void go_calls_take_stack();
void go_calls_give_stack();

}  // namespace roost

// Whether the calling thread may be in a signal handler of the program's.
#pragma once

#include <signal.h>

#include <cstdint>

namespace roost {

// In sets of signals, as the kernel has them.
constexpr std::uint64_t signal_bit(int signal) { return std::uint64_t{1} << (signal - 1); }

// True also where such a frame is left on the stack (in_handler_over), or the stack is deep. Asks
// the kernel for each handler, and how far the stack reaches: up to some hundred microseconds.
bool perhaps_in_handler();

inline bool is_function(sighandler_t handler) {
  return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR && handler != SIG_HOLD;
}
// The program sets a handler, with these flags.
void note_handler(int signal, int flags);
// Signals that it has set handlers of, a bit each from signal 1 on.
std::uint64_t handled_signals();
// Whether the calling thread is in a handler that has interrupted code at an address of which
// `is_it` is true, or one of libc's that was called from there, or that has another stack than what
// it has interrupted, as far as the stack's last 32 KB tell. A frame that a handler has left there
// by a jump counts, too, or a handler whose return is not ours (handler_return.h), if its signal is
// blocked or has SA_NODEFER. No system call where the program has set no handler; one where none of
// their signals is blocked, as it is in its handler; else some microseconds.
bool in_handler_over(bool (*is_it)(std::uint64_t address));

}  // namespace roost

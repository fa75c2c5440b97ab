// Calls that pass no symbol of Roost's. Waits inside libc: stdio, the resolver, syslog() call
// libc's read(), write(), open(), poll(), send() and wait4() without passing a symbol. The entries
// of these are led to Roost's functions, as if they did (docs/design/028-calls-inside-libc.md).
#pragma once

namespace roost {

// Once, while the process has one thread. Does nothing where this libc's code is another, or
// cannot be written: the watchdog finds those waits then.
void lead_libc_calls();

// Those that wake, for callers that reach libc past Roost: a library that is loaded with
// RTLD_DEEPBIND, or that has them of a handle of libc's. Five pages of libc's are copied for that,
// so before the first such library, and while the program has one thread.
void lead_libc_wakes();

// What dlsym() found of libc, for who wants libc's own function: the same if it was not led.
void* libc_function_behind(void* found);

}  // namespace roost

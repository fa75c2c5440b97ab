// Waits inside libc: stdio, the resolver, syslog() call libc's read(), write(), open(), poll(),
// send() and wait4() without passing a symbol. The entries of these are led to Roost's functions,
// as if they did (docs/design/028-calls-inside-libc.md).
#pragma once

namespace roost {

// Once, while the process has one thread. Does nothing where this libc's code is another, or
// cannot be written: the watchdog finds those waits then.
void lead_libc_calls();

// What dlsym() found of libc, for who wants libc's own function: the same if it was not led.
void* libc_function_behind(void* found);

}  // namespace roost

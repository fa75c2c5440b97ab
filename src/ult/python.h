// Light threads in a Python program: each has a thread state of its own, as an OS thread would.
//
// PyGILState_Ensure(), which natural threads call around Python code, finds the thread's state in
// thread-specific data, which light threads of one OS thread have in common. So those values are
// exchanged where light threads are. The keys are those under which a thread that is known to
// Python has what PyGILState_GetThisThreadState() returns: Python's own, and those of pybind11.
// https://docs.python.org/3/c-api/init.html, "Non-Python created threads".
#pragma once

#include <atomic>

#include "ult/carrier.h"

namespace roost::ult {

extern std::atomic<unsigned> n_python_keys;

// By who opens a batch: looks for the keys until they are found, or have often not been.
void look_for_python();

void exchange_python_states(Strand& from, const Strand& to);

// At a switch, on the thread of both.
inline void exchange_python(Strand& from, const Strand& to) {
  if (__builtin_expect(n_python_keys.load(std::memory_order_acquire), 0))
    exchange_python_states(from, to);
}

}  // namespace roost::ult

// Thread-specific data that each light thread has for itself, as an OS thread would: light threads
// of one OS thread have its values in common, so those of some keys are exchanged where they are.
//
// Python: PyGILState_Ensure(), which natural threads call around Python code, finds the thread's
// state there. The keys are those under which a thread that is known to Python has what
// PyGILState_GetThisThreadState() returns: Python's own, and those of pybind11.
// https://docs.python.org/3/c-api/init.html, "Non-Python created threads".
//
// Others are told (exchange_key).
#pragma once

#include <pthread.h>

#include <atomic>

#include "ult/carrier.h"

namespace roost::ult {

extern std::atomic<unsigned> n_exchanged_keys;

// By who opens a batch: looks for Python's keys until they are found, or have often not been.
void look_for_python();

// From now on a light thread begins with null under this key, and finds later what it has left
// there. Any thread; nothing if there are kExchangedKeys already.
void exchange_key(pthread_key_t key);

void exchange_values(Strand& from, const Strand& to);

// At a switch, on the thread of both.
inline void exchange_thread_data(Strand& from, const Strand& to) {
  if (__builtin_expect(n_exchanged_keys.load(std::memory_order_acquire), 0))
    exchange_values(from, to);
}

}  // namespace roost::ult

// Light threads and Python's lock of its interpreter (the GIL).
#pragma once

namespace roost {

// Before the process has a second thread. From then on PyEval_RestoreThread(), called by a light
// thread, waits until none of its siblings on its OS thread has the lock: Python would end the
// process. (Whose states are whose: ult/thread_data.h.)
void lead_python_calls();

}  // namespace roost

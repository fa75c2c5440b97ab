// Light threads and Python's lock of its interpreter (the GIL).
#pragma once

namespace roost {

// Before the process has a second thread. From then on a light thread between PyGILState_Ensure()
// and PyGILState_Release() counts as an OS thread (is_light()): what Python knows of it is in
// thread-specific data, its siblings' as well, so none of them may run in between.
void lead_python_calls();

}  // namespace roost

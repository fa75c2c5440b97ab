// From Python 3.13 on, who takes the interpreter's lock must not find that its OS thread has it.
#include "preload/python_gil.h"

#include <dlfcn.h>

#include "os/sys.h"
#include "preload/entry_patch.h"
#include "preload/light.h"

namespace roost {
namespace {

using StateOfThread = void*();
constinit StateOfThread* attached = nullptr;  // who has the lock, if it is of this OS thread
constinit EntryPatch led = {};

void let_siblings_run_for(Nanoseconds time) {
  Deadline deadline{os::to_timespec(os::now() + time), false};
  LightWait wait(&deadline);
  while (!wait.timed_out())
    if (!wait.let_siblings_run()) wait.park(false);
}

void restore_thread(void* state) {
  constexpr Nanoseconds kMoment = 50'000;
  while (is_light() && can_park() && attached()) let_siblings_run_for(kMoment);
  reinterpret_cast<void (*)(void*)>(const_cast<void*>(led.behind))(state);
}

}  // namespace

void lead_python_calls() {
  constexpr unsigned long kSince = 0x030d0000;
  auto* version = static_cast<const unsigned long*>(dlsym(RTLD_DEFAULT, "Py_Version"));
  if (!version || *version < kSince) return;
  attached = reinterpret_cast<StateOfThread*>(dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked"));
  const void* restore = dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
  if (!attached || !restore) return;
  led = {restore, reinterpret_cast<const void*>(&restore_thread)};
  patch_entries(&led, 1);
}

}  // namespace roost

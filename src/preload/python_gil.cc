// https://docs.python.org/3/c-api/init.html, "Non-Python created threads": what natural threads
// call around a callback, be they members of an OpenMP region (Cython's prange, SWIG's directors).
#include "preload/python_gil.h"

#include <dlfcn.h>

#include "preload/entry_patch.h"
#include "preload/light.h"

namespace roost {
namespace {

enum { kEnsure, kRelease, kLed };
constinit EntryPatch led[kLed] = {};

template <class Function>
Function* behind(int which) {
  return reinterpret_cast<Function*>(const_cast<void*>(led[which].behind));
}

int ensure() {
  begin_as_os_thread();
  return behind<int()>(kEnsure)();
}

void release(int state) {
  behind<void(int)>(kRelease)(state);
  end_as_os_thread();
}

}  // namespace

void lead_python_calls() {
  const void* functions[kLed] = {dlsym(RTLD_DEFAULT, "PyGILState_Ensure"),
                                 dlsym(RTLD_DEFAULT, "PyGILState_Release")};
  if (!functions[kEnsure] || !functions[kRelease]) return;
  led[kEnsure] = {functions[kEnsure], reinterpret_cast<const void*>(&ensure)};
  led[kRelease] = {functions[kRelease], reinterpret_cast<const void*>(&release)};
  patch_entries(led, kLed);
}

}  // namespace roost

// system, popen and pclose: libc makes and awaits the child by itself, unseen.
//
// The child may be unmanaged and inherits the affinity, so it is made with that of the whole
// instance; who waits for it does so without the core.
#include <stdio.h>
#include <stdlib.h>

#include "preload/blocking.h"

namespace roost {
namespace {

ROOST_BEHIND(int, system, const char*)
ROOST_BEHIND(FILE*, popen, const char*, const char*)
ROOST_BEHIND(int, pclose, FILE*)

}  // namespace

ROOST_EXPORT int system(const char* command) {
  bool managed = can_park() && in_managed_process();
  if (managed) unpin_self();  // the next core it gets pins it again
  return without_core([&] { return real_system(command); });
}

ROOST_EXPORT FILE* popen(const char* command, const char* mode) {
  return make_child([&] { return real_popen(command, mode); });
}

ROOST_EXPORT int pclose(FILE* stream) {
  return without_core([&] { return real_pclose(stream); });
}

}  // namespace roost

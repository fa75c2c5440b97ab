// Finds libc's own functions.
#include "preload/real.h"

#include <dlfcn.h>
#include <string.h>

#include "os/sys.h"

namespace roost {

void* find_real(const char* name, const char* version, bool optional) {
  void* found = nullptr;
  // Architectures younger than the second version have the symbol once, at their base version.
  if (version) found = dlvsym(RTLD_NEXT, name, version);
  if (!found) found = dlsym(RTLD_NEXT, name);
  if (!found && !optional) {
    char text[128] = "roost: this libc has no ";
    strncat(text, name, 80);
    strcat(text, "()\n");
    os::write(2, text, strlen(text));
    __builtin_trap();
  }
  return found;
}

}  // namespace roost

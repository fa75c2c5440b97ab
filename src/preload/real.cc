// Finds libc's own functions.
#define ROOST_DEFINES_REAL
#include "preload/real.h"

#include <dlfcn.h>

#include "base/text.h"
#include "os/sys.h"
#include "preload/libc_calls.h"

namespace roost {

extern "C" {
// Of the section of that name, by the linker.
extern LibcFunction __start_roost_libc_functions[] __attribute__((visibility("hidden")));
extern LibcFunction __stop_roost_libc_functions[] __attribute__((visibility("hidden")));
extern LibcFunction __start_roost_other_functions[] __attribute__((visibility("hidden")));
extern LibcFunction __stop_roost_other_functions[] __attribute__((visibility("hidden")));
}

void* LibcFunction::resolve(bool optional) {
  void* found = nullptr;
  // Architectures younger than the second version have the symbol once, at their base version.
  if (version_) found = dlvsym(RTLD_NEXT, name_, version_);
  if (!found) found = dlsym(RTLD_NEXT, name_);
  if (!found && !optional) {
    Text<128> text("roost: this libc has no ");
    text << name_ << "()\n";
    os::write(2, text.c_str(), text.length());
    __builtin_trap();
  }
  found = libc_function_behind(found);
  pointer_.store(found, std::memory_order_relaxed);
  return found;
}

void LibcFunction::look_behind() {
  void* known = pointer_.load(std::memory_order_relaxed);
  if (known) pointer_.store(libc_function_behind(known), std::memory_order_relaxed);
}

void look_behind_led_functions() {
  for (LibcFunction* f = __start_roost_libc_functions; f != __stop_roost_libc_functions; ++f)
    f->look_behind();
}

static void resolve_all(LibcFunction* begin, LibcFunction* end, std::atomic<bool>& done) {
  if (done.load(std::memory_order_relaxed)) return;
  for (LibcFunction* f = begin; f != end; ++f) f->resolve(true);
  done.store(true, std::memory_order_relaxed);
}

void resolve_libc_functions() {
  static constinit std::atomic<bool> done{false};
  resolve_all(__start_roost_libc_functions, __stop_roost_libc_functions, done);
}

void resolve_functions() {
  static constinit std::atomic<bool> done{false};
  resolve_libc_functions();
  resolve_all(__start_roost_other_functions, __stop_roost_other_functions, done);
}

}  // namespace roost

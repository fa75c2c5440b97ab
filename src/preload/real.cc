// Finds libc's own functions.
#define ROOST_DEFINES_REAL
#include "preload/real.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

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

// Whether two names are the same. Not by libc's functions: a sanitizer's runtime may have put its
// own there, and not be ready.
static bool same(const char* a, const char* b) {
  for (; *a && *a == *b; ++a) ++b;
  return *a == *b;
}

// The running glibc is 2.this.
static unsigned libc_minor() {
  unsigned minor = 0;
  for (const char* at = gnu_get_libc_version() + 2; *at >= '0' && *at <= '9'; ++at)
    minor = minor * 10 + static_cast<unsigned>(*at - '0');
  return minor;
}

// Those that the oldest libc we serve does not have: the linker would ask malloc for its error.
static bool is_newer_than(unsigned minor, const char* name) {
  constexpr struct {
    const char* name;
    unsigned since;  // glibc 2.*
  } kYounger[] = {
      {"pthread_attr_getsigmask_np", 32}, {"_Fork", 34}, {"execveat", 34}, {"epoll_pwait2", 35}};
  for (const auto& function : kYounger)
    if (minor < function.since && same(name, function.name)) return true;
  return false;
}

static void resolve_all(LibcFunction* begin, LibcFunction* end, std::atomic<bool>& done) {
  if (done.load(std::memory_order_relaxed)) return;
  unsigned minor = libc_minor();
  for (LibcFunction* f = begin; f != end; ++f)
    if (!is_newer_than(minor, f->name())) f->resolve(true);
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

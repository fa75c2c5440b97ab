// What the kernel has as the program's action for a signal: in libc's form, and changes of it.
#pragma once

#include <signal.h>
#include <string.h>

#include <cstdint>

#include "os/sys.h"

namespace roost {

inline sighandler_t handler_in(const os::KernelAction& action) {
  return reinterpret_cast<sighandler_t>(action.handler);
}

// Without a restorer.
inline os::KernelAction in_kernel_form(const struct sigaction& action) {
  os::KernelAction result{reinterpret_cast<std::uintptr_t>(action.sa_handler),
                          static_cast<unsigned long>(action.sa_flags), 0, 0};
  memcpy(&result.mask, &action.sa_mask, sizeof result.mask);
  return result;
}
inline struct sigaction in_libc_form(const os::KernelAction& action) {
  struct sigaction result = {};
  result.sa_handler = handler_in(action);
  result.sa_flags = static_cast<int>(action.flags);
  result.sa_restorer = reinterpret_cast<void (*)()>(action.restorer);
  memcpy(&result.sa_mask, &action.mask, sizeof action.mask);
  return result;
}

inline bool is_same(const os::KernelAction& a, const os::KernelAction& b) {
  return a.handler == b.handler && a.flags == b.flags && a.restorer == b.restorer &&
         a.mask == b.mask;
}

// `change(action)` makes of the program's action what it is to be. Where another thread has set one
// meanwhile, that is changed instead. For some instructions what the program has set may be undone.
template <class Change>
void amend_action(int signal, Change&& change) {
  constexpr unsigned kMostTries = 8;
  os::KernelAction there{};
  if (os::kernel_action(signal, nullptr, &there) != 0) return;
  os::KernelAction programs = there;
  for (unsigned tries = 0; tries < kMostTries; ++tries) {
    os::KernelAction wanted = programs, found{};
    change(wanted);
    if (is_same(wanted, there)) return;
    if (os::kernel_action(signal, &wanted, &found) != 0 || is_same(found, there)) return;
    programs = found;
    there = wanted;
  }
}

}  // namespace roost

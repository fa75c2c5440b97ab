// A change of what the kernel has as the program's action for a signal.
#pragma once

#include "os/sys.h"

namespace roost {

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

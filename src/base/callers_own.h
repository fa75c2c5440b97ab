// Functions of other libraries that Roost defines as well, so that calls of theirs come to it:
// where the caller's own is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/loaded_object.h"
#include "base/object_symbols.h"

namespace roost {

// It may be in no global scope: a plugin (dlopen with RTLD_LOCAL) brings its libraries along, and
// they are found only through the object that calls.
template <class Function>
class CallersOwn {
 public:
  // `own`: Roost's function of that name.
  constexpr CallersOwn(const char* name, Function* own) : name_(name), own_(own) {}

  // For a call that returns there; null if there is none. Any thread; not in signal handlers.
  // Without the dynamic linker's lock, which a thread may hold that waits for this one in the
  // constructor of a library, but for libc older than 2.35.
  Function* of(void* return_address) {
    std::size_t first = reinterpret_cast<std::uintptr_t>(return_address) * kSpread >> kShift;
    for (std::size_t i = 0; i < kTries; ++i) {
      const Caller& caller = callers_[(first + i) % kCallers];
      if (caller.return_address.load(std::memory_order_acquire) == return_address)
        return caller.function.load(std::memory_order_relaxed);
    }
    Function* found = find(return_address);
    for (std::size_t i = 0; found && i < kTries; ++i) {
      Caller& caller = callers_[(first + i) % kCallers];
      Function* there = nullptr;
      if (caller.function.compare_exchange_strong(there, found, std::memory_order_relaxed)) {
        caller.return_address.store(return_address, std::memory_order_release);
        break;
      }
      // Others are at the same.
      void* whose = caller.return_address.load(std::memory_order_relaxed);
      if (there == found && (!whose || whose == return_address)) break;
    }
    return found;
  }

 private:
  static constexpr std::size_t kCallers = 64, kTries = 8;
  static constexpr std::uintptr_t kSpread = 0x9e3779b97f4a7c15;
  static constexpr unsigned kShift = 64 - 6;

  struct Caller {
    std::atomic<Function*> function{nullptr};
    std::atomic<void*> return_address{nullptr};  // set last
  };

  Function* find(void* return_address) const {
    dl_find_object object;
    if (!find_object(return_address, object)) return find_with_lock(return_address);
    const link_map* caller = object.dlfo_link_map;
    if (Function* found = of_object(*caller)) return found;
    while (caller->l_prev) caller = caller->l_prev;
    for (const link_map* other = caller; other; other = other->l_next)
      if (Function* found = of_object(*other)) return found;
    return nullptr;
  }

  // Both libraries of Roost's may define it.
  Function* of_object(const link_map& object) const {
    ObjectSymbols symbols(object);
    auto* found = symbols.function<Function>(name_);
    bool is_roosts = found && (symbols.find("roost_block") || symbols.find("roost_call_locks_in"));
    return is_roosts ? nullptr : found;
  }

  Function* find_with_lock(void* return_address) const {
    Dl_info object;
    void* found = nullptr;
    if (dladdr(return_address, &object) && object.dli_fname) {
      if (void* handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
        found = dlsym(handle, name_);
        dlclose(handle);  // the caller keeps it loaded
      }
    }
    if (!found || found == reinterpret_cast<void*>(own_)) found = dlsym(RTLD_NEXT, name_);
    return reinterpret_cast<Function*>(found);
  }

  const char* name_;
  Function* own_;
  Caller callers_[kCallers];
};

}  // namespace roost

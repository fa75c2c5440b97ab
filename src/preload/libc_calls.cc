// Which of libc's functions are led, and the wait for its locks.
#include "preload/libc_calls.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload/blocking.h"
#include "preload/entry_patch.h"
#include "preload/real.h"
#include "preload/served_syscall.h"
#include "preload/trap_state.h"

#pragma GCC visibility push(hidden)
extern "C" {
ssize_t roost_read(int, void*, size_t);
ssize_t roost_write(int, const void*, size_t);
int roost_open64(const char*, int, mode_t);
ssize_t roost_send(int, const void*, size_t, int);
int roost_poll(pollfd*, nfds_t, int);
pid_t roost_wait4(pid_t, int*, int, rusage*);
}
#pragma GCC visibility pop

namespace roost {
namespace {

// Of glibc's own locks (malloc's arenas, FILE, the list of exit handlers ...): 0 free, 1 taken, 2
// taken and perhaps waited for. Its unlock wakes with a call of its own, so the wait is the
// kernel's. A lock is held for much less than it takes to give a core away, unless its holder
// waits.
constexpr int kTakenAndWaitedFor = 2;
// So many of these waits give the core away after one in which the watchdog took it: the holder
// waits where that is not counted (in a sleep, a mutex, a call of the program's own).
constexpr int kWaitsAfterRescue = 1000;
std::atomic<int> expected_to_last{0};

long sleep_at_lock(const int* lock) {
  auto sleep = [lock] {
    return made_in_kernel(
        {SYS_futex, os::arg(lock), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, kTakenAndWaitedFor, 0, 0, 0});
  };
  // Siblings of a light thread must not run: the locks that it has are theirs as well.
  if (!can_park() || is_light()) return sleep();
  int left = expected_to_last.load(std::memory_order_relaxed);
  if (left > 0) expected_to_last.store(left - 1, std::memory_order_relaxed);
  if (left > 0 || waiters_inside_libc.load(std::memory_order_relaxed) != 0)
    return without_core(sleep, "libc's lock");
  long result = sleep();
  if (!has_core() && !self.beside)
    expected_to_last.store(kWaitsAfterRescue, std::memory_order_relaxed);
  return result;
}

void wait_for_libc_lock(int* lock) {
  if (__atomic_load_n(lock, __ATOMIC_RELAXED) == kTakenAndWaitedFor) sleep_at_lock(lock);
  while (__atomic_exchange_n(lock, kTakenAndWaitedFor, __ATOMIC_ACQUIRE) != 0) sleep_at_lock(lock);
}

constexpr unsigned kMostLed = 8;
constinit EntryPatch led[kMostLed] = {};
unsigned n_led;

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

bool add(const TextRange& libc, const char* name, const void* replacement) {
  const void* function = dlsym(RTLD_NEXT, name);
  // Another library's that comes before libc's calls libc's itself.
  if (!function || !libc.contains(reinterpret_cast<std::uintptr_t>(function))) return false;
  led[n_led++] = {function, replacement};
  return true;
}

}  // namespace

void lead_libc_calls() {
  TextRange libc;
  if (!find_text(address_of(&gnu_get_libc_version), libc)) return;
  // Who waits in one of the others may have a lock for which threads wait with their cores. (glibc
  // before 2.34 has no symbol for that.)
  if (!add(libc, "__lll_lock_wait_private", address_of(&wait_for_libc_lock))) return;
  add(libc, "read", address_of(&roost_read));
  add(libc, "write", address_of(&roost_write));
  add(libc, "send", address_of(&roost_send));
  add(libc, "open64", address_of(&roost_open64));
  add(libc, "poll", address_of(&roost_poll));
  add(libc, "wait4", address_of(&roost_wait4));
  patch_entries(led, n_led);
  look_behind_led_functions();
}

void* libc_function_behind(void* found) {
  for (unsigned i = 0; i < n_led; ++i)
    if (led[i].function == found && led[i].behind) return const_cast<void*>(led[i].behind);
  return found;
}

}  // namespace roost

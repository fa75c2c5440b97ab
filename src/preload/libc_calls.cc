// Which of libc's functions are led, and the wait for its locks.
#include "preload/libc_calls.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload/blocking.h"
#include "preload/entry_patch.h"
#include "preload/mutex.h"
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

// Functions of libc's that are led, all at once.
class Led {
 public:
  Led() = default;

  bool add(const TextRange& libc, const char* name, const void* replacement) {
    const void* function = dlsym(RTLD_NEXT, name);
    // Another library's that comes before libc's calls libc's itself.
    if (!function || !libc.contains(reinterpret_cast<std::uintptr_t>(function))) return false;
    patches_[count_++] = {function, replacement};
    return true;
  }
  void lead() {
    if (count_ == 0) return;
    patch_entries(patches_, count_);
    follow_libc_functions();
  }
  const void* behind(const void* found) const {
    for (unsigned i = 0; i < count_; ++i)
      if (patches_[i].function == found) return patches_[i].behind;
    return nullptr;
  }

 private:
  static constexpr unsigned kMost = 8;
  EntryPatch patches_[kMost] = {};
  unsigned count_ = 0;
};
constinit Led waits, wakes;

template <class Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

void lead_libc_calls() {
  TextRange libc;
  if (!find_text(address_of(&gnu_get_libc_version), libc)) return;
  // Who waits in one of the others may have a lock for which threads wait with their cores. (glibc
  // before 2.34 has no symbol for that.)
  if (!waits.add(libc, "__lll_lock_wait_private", address_of(&wait_for_libc_lock))) return;
  waits.add(libc, "read", address_of(&roost_read));
  waits.add(libc, "write", address_of(&roost_write));
  waits.add(libc, "send", address_of(&roost_send));
  waits.add(libc, "open64", address_of(&roost_open64));
  waits.add(libc, "poll", address_of(&roost_poll));
  waits.add(libc, "wait4", address_of(&roost_wait4));
  waits.lead();
}

void lead_libc_wakes() {
  static constinit std::atomic<bool> done{false};
  TextRange libc;
  if (program_threads() > 1 || done.exchange(true, std::memory_order_relaxed) ||
      !find_text(address_of(&gnu_get_libc_version), libc))
    return;
  wakes.add(libc, "pthread_cond_signal", address_of(&cond_signal));
  wakes.add(libc, "pthread_cond_broadcast", address_of(&cond_broadcast));
  wakes.add(libc, "pthread_mutex_unlock", address_of(&mutex_unlock));
  wakes.add(libc, "pthread_rwlock_unlock", address_of(&rwlock_unlock));
  wakes.add(libc, "sem_post", address_of(&semaphore_post));
  wakes.lead();
}

void* libc_function_behind(void* found) {
  const void* behind = waits.behind(found);
  if (!behind) behind = wakes.behind(found);
  return behind ? const_cast<void*>(behind) : found;
}

}  // namespace roost

// Stacks are mapped several at a time and never unmapped; unused ones are in a list through their
// lowest bytes.
#include "preload/stack_pool.h"

#include <string.h>

#include "os/sys.h"
#include "preload/lock.h"

namespace roost {
namespace {

constexpr std::size_t kGuardBytes = 4 << 10, kEach = kGuardBytes + kPooledStackBytes;
constexpr unsigned kAtOnce = 8;

constinit Lock lock;
constinit char* unused = nullptr;
constinit unsigned next_time = 1;  // most processes have one thread

// With the lock.
void map_stacks() {
  unsigned n = next_time;
  auto* memory = static_cast<char*>(
      os::map_memory(n * kEach, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK));
  if (!memory) return;
  next_time = kAtOnce;
  for (unsigned i = 0; i < n; ++i) {
    char* guard = memory + i * kEach;
    os::raw_syscall(SYS_mprotect, os::arg(guard), kGuardBytes, PROT_NONE);
    memcpy(guard + kGuardBytes, &unused, sizeof unused);
    unused = guard + kGuardBytes;
  }
}

}  // namespace

char* take_pooled_stack() {
  LockGuard guard(lock);
  if (!unused) map_stacks();
  char* stack = unused;
  if (stack) memcpy(&unused, stack, sizeof unused);
  return stack;
}

void give_pooled_stack(char* stack) {
  LockGuard guard(lock);
  memcpy(stack, &unused, sizeof unused);
  unused = stack;
}

void pooled_stacks_after_fork() { lock.reset(); }

}  // namespace roost

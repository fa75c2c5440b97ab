// Permanent memory from the kernel, in chunks.
#include "ult/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/text.h"
#include "ult/kernel.h"
#include "ult/spin_lock.h"

namespace roost::ult {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kAlign = 128;

constinit LockOverForks lock;
constinit char* chunk = nullptr;
constinit std::size_t left = 0;

char* map(std::size_t bytes, int more_flags = 0) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

void* permanent(std::size_t bytes) {
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes > kChunk / 4) return map(bytes);
  GuardOverForks guard(lock);
  if (left < bytes) {
    char* fresh = map(kChunk);
    if (!fresh) return nullptr;
    chunk = fresh;
    left = kChunk;
  }
  void* result = chunk;
  chunk += bytes;
  left -= bytes;
  return result;
}

void lock_permanent() { lock.acquire_before_fork(); }
void unlock_permanent() { lock.release_after_fork(); }

Stack map_stack(std::size_t bytes) {
  constexpr std::size_t kPage = 65536;  // the largest there is
  Stack stack;
  stack.bytes = (bytes + kPage - 1) / kPage * kPage + kGuardBytes;
  stack.low = map(stack.bytes, MAP_STACK);
  if (!stack.low) return stack;
  kernel::KeepErrno errno_stays;
  mprotect(stack.low, kGuardBytes, PROT_NONE);
  // Of most stacks a few pages are ever used. (Since Linux 6.7 MAP_STACK says so.)
  madvise(stack.bottom(), stack.bytes - kGuardBytes, MADV_NOHUGEPAGE);
  return stack;
}

void out_of_memory(const char* what) {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true, std::memory_order_relaxed)) syscall(SYS_exit_group, EXIT_FAILURE);
  Text<256> text("roost: no memory for ");
  text << what << "\n";
  kernel::write_error(text.c_str(), text.length());
  std::exit(EXIT_FAILURE);  // as libgomp does
}

}  // namespace roost::ult

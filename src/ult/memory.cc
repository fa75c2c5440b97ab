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

constinit SpinLock lock;
constinit char* chunk = nullptr;
constinit std::size_t left = 0;

char* map(std::size_t bytes, int protection) {
  void* memory =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

void* permanent(std::size_t bytes) {
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes > kChunk / 4) return map(bytes, PROT_READ | PROT_WRITE);
  SpinGuard guard(lock);
  if (left < bytes) {
    char* fresh = map(kChunk, PROT_READ | PROT_WRITE);
    if (!fresh) return nullptr;
    chunk = fresh;
    left = kChunk;
  }
  void* result = chunk;
  chunk += bytes;
  left -= bytes;
  return result;
}

void lock_permanent() { lock.acquire(); }
void unlock_permanent() { lock.release(); }

Stack map_stack(std::size_t bytes) {
  constexpr std::size_t kPage = kGuardBytes;
  Stack stack;
  stack.bytes = (bytes + kPage - 1) / kPage * kPage + kPage;
  stack.low = map(stack.bytes, PROT_READ | PROT_WRITE);
  if (stack.low) mprotect(stack.low, kPage, PROT_NONE);
  return stack;
}

void out_of_memory(const char* what) {
  Text<256> text("roost: no memory for ");
  text << what << "\n";
  kernel::write_error(text.c_str(), text.length());
  std::abort();
}

}  // namespace roost::ult

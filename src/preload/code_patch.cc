// Writes code through /proc/self/mem, which makes a private copy of the page and never opens a
// window in which code is writable; through mprotect where that is refused, and for stores of
// several bytes, which the kernel's copy does not promise to make at once.
#include "preload/code_patch.h"

#include <linux/membarrier.h>
#include <sys/mman.h>

#include <cstring>

#include "os/sys.h"

namespace roost {
namespace {

constexpr std::uint64_t kPage = kCodePageBytes;

// Runs `store` with the pages of the range writable (and executable: other threads run there).
template <class Store>
bool with_writable_code(std::uint64_t address, std::size_t size, Store&& store) {
  std::uint64_t first = address & ~(kPage - 1);
  auto bytes = static_cast<long>(((address + size + kPage - 1) & ~(kPage - 1)) - first);
  auto protect = [&](int protection) {
    return os::raw_syscall(SYS_mprotect, static_cast<long>(first), bytes, protection) == 0;
  };
  if (!protect(PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
  store();
  protect(PROT_READ | PROT_EXEC);
  return true;
}

}  // namespace

bool code_patch_start() {
  return os::raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0,
                         0) == 0;
}

bool is_writable_code(std::uint64_t address) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
  return os::raw_syscall(SYS_madvise, static_cast<long>(address & ~(kPage - 1)), kPage,
                         kPopulateWrite) == 0;
}

CodeWriter::CodeWriter() : memory_(os::open("/proc/self/mem", O_RDWR | O_CLOEXEC)) {}

CodeWriter::~CodeWriter() {
  if (memory_ >= 0) os::close(memory_);
}

bool CodeWriter::write(std::uint64_t address, const std::uint8_t* bytes, std::size_t size) {
  // By the two calls that every filter of system calls lets pass.
  if (memory_ >= 0 &&
      os::raw_syscall(SYS_lseek, memory_, static_cast<long>(address), SEEK_SET) >= 0 &&
      os::raw_syscall(SYS_write, memory_, os::arg(bytes), static_cast<long>(size)) ==
          static_cast<long>(size)) {
    return true;
  }
  return with_writable_code(address, size, [&] {
    auto* to = reinterpret_cast<volatile std::uint8_t*>(address);
    for (std::size_t i = 0; i < size; ++i) to[i] = bytes[i];
  });
}

bool write_at_once(std::uint64_t address, const std::uint8_t* bytes, unsigned size) {
  if (size == 1) return write_unused_code(address, bytes, 1);
  return with_writable_code(address, size, [&] {
    // Of an aligned word of eight bytes x86 makes the store at once.
    auto* word = reinterpret_cast<volatile std::uint64_t*>(address & ~std::uint64_t{7});
    std::uint64_t value = *word;
    std::memcpy(reinterpret_cast<std::uint8_t*>(&value) + address % 8, bytes, size);
    *word = value;
  });
}

void synchronise_code() {
  os::raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

std::uint8_t* allocate_code_page(std::uint64_t near) {
  constexpr std::uint64_t kStep = 16ull << 20, kFarthest = 1800ull << 20;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  std::uint64_t start = near & ~(kPage - 1);
  for (std::uint64_t distance = kStep; distance < kFarthest; distance += kStep) {
    for (int side = 0; side < 2; ++side) {
      std::uint64_t at = side == 0 ? start - distance : start + distance;
      long mapped = os::raw_syscall(SYS_mmap, static_cast<long>(at), kPage, PROT_READ | PROT_WRITE,
                                    kFlags, -1, 0);
      if (mapped == static_cast<long>(at)) return reinterpret_cast<std::uint8_t*>(mapped);
      // A kernel that does not know the flag puts the page elsewhere.
      if (mapped > 0) os::raw_syscall(SYS_munmap, mapped, kPage);
    }
  }
  return nullptr;
}

bool publish_code_page(std::uint8_t* page) {
  return os::raw_syscall(SYS_mprotect, os::arg(page), kPage, PROT_READ | PROT_EXEC) == 0;
}

void free_code_page(std::uint8_t* page) { os::unmap_memory(page, kPage); }

}  // namespace roost

// The process's own memory.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "os/sys.h"

namespace roost::os {

std::uint64_t end_of_readable(std::uint64_t from, std::uint64_t to) {
  constexpr std::uint64_t kPage = 4096;
  constexpr unsigned kPages = 16;
  // A byte of each page; the kernel stops at the first that is not there.
  while (from < to) {
    iovec pages[kPages];
    char bytes[kPages];
    unsigned n = 0;
    for (std::uint64_t at = from; at < to && n < kPages; at = (at | (kPage - 1)) + 1)
      pages[n++] = {reinterpret_cast<void*>(at), 1};
    iovec local{bytes, n};
    long read = raw_syscall(SYS_process_vm_readv, getpid(), arg(&local), 1, arg(pages), n, 0);
    for (long i = 0; i < read; ++i) from = (from | (kPage - 1)) + 1;
    if (read < static_cast<long>(n)) return std::min(from, to);
  }
  return to;
}

}  // namespace roost::os

// Asks the kernel for an affinity mask.
#include "topo/affinity.h"

#include <cstring>

#include "os/sys.h"

namespace roost {

int affinity_of(pid_t tid, CpuSet& cpus) {
  // The kernel refuses buffers smaller than its own mask, which distributions build for 8192 CPUs.
  std::uint64_t mask[8192 / 64] = {};
  int bytes = os::get_affinity(tid, mask, sizeof mask);
  if (bytes < 0) return bytes;
  std::memcpy(cpus.words, mask, sizeof cpus.words);
  return 0;
}

}  // namespace roost

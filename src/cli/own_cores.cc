// Asks for the affinity mask and selects cores from it.
#include "cli/own_cores.h"

#include <sched.h>

#include <cerrno>
#include <cstring>

#include "cli/error.h"

namespace roost::cli {

// libc's function and no raw call: under another `roost run` the kernel's mask is the one core that
// this thread happens to run on, and Roost answers libc's function with the instance's.
CpuSet own_mask() {
  std::uint64_t words[8192 / 64] = {};
  if (sched_getaffinity(0, sizeof words, reinterpret_cast<cpu_set_t*>(words)) != 0) {
    die(kCannotRun, "the affinity mask cannot be read: {}", std::strerror(errno));
  }
  CpuSet mask;
  std::memcpy(mask.words, words, sizeof mask.words);
  return mask;
}

Machine machine_for(const CoreRequest& request) {
  Machine machine;
  ErrorText error;
  if (machine_of_instance("", own_mask(), request, machine, error) != 0) {
    die(kWrongUsage, "{}", error.c_str());
  }
  return machine;
}

}  // namespace roost::cli

// Which regions run on OS threads, and what the environment says of levels.
#include "omp/levels.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "omp/ompt_callbacks.h"

namespace roost::omp {
namespace {

// The executable: where its code is, and whether it has thread-local variables.
struct Executable {
  std::uintptr_t low = ~std::uintptr_t{0};
  std::uintptr_t high = 0;
  bool thread_local_data = false;
};

Executable look_at_executable() {
  Executable found;
  auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  if (!headers) return found;
  unsigned long count = getauxval(AT_PHNUM);
  std::uintptr_t bias = 0;
  for (unsigned long i = 0; i < count; ++i)
    if (headers[i].p_type == PT_PHDR)
      bias = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
  for (unsigned long i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_TLS) found.thread_local_data = true;
    if (headers[i].p_type != PT_LOAD) continue;
    std::uintptr_t low = bias + headers[i].p_vaddr;
    std::uintptr_t high = low + headers[i].p_memsz;
    if (low < found.low) found.low = low;
    if (high > found.high) found.high = high;
  }
  return found;
}

// Looked at again by each thread that comes while nobody has finished: the answer is the same.
bool of_executable_with_tls(const void* function) {
  static constinit std::atomic<int> state{0};  // 0: not looked; 1: no; 2: yes
  static constinit std::atomic<std::uintptr_t> low{0}, high{0};
  if (!state.load(std::memory_order_acquire)) {
    Executable found = look_at_executable();
    low.store(found.low, std::memory_order_relaxed);
    high.store(found.high, std::memory_order_relaxed);
    state.store(found.thread_local_data ? 2 : 1, std::memory_order_release);
  }
  if (state.load(std::memory_order_relaxed) != 2) return false;
  auto address = reinterpret_cast<std::uintptr_t>(function);
  return address >= low.load(std::memory_order_relaxed) &&
         address < high.load(std::memory_order_relaxed);
}

}  // namespace

void inherit_by_level(Icvs& icvs, unsigned level) {
  const Settings& set = settings();
  if (static_cast<int>(level) < set.n_threads_by_level) icvs.threads = set.threads_by_level[level];
  if (static_cast<int>(level) < set.n_bind_by_level) icvs.bind = set.bind_by_level[level];
}

bool on_os_threads(const Team& team) {
  std::int32_t levels = settings().os_levels;
  if (levels >= 0) return static_cast<std::int32_t>(team.active_level) <= levels;
  if (__builtin_expect(ompt::on(), 0) && ompt::has_tool()) return true;
  return team.active_level == 1 && of_executable_with_tls(team.region.function);
}

}  // namespace roost::omp

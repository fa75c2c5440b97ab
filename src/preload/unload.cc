// dlclose, and who must not run beside it.
//
// Two counts, Dekker's way: who unloads counts itself in, then waits for those who write; who
// writes counts itself in, then gives up if anybody unloads. A thread that a destructor never lets
// out of dlclose thus only keeps loops from being restored, and so does one that was inside when
// another forked, in the child. What libc unloads by itself (name services, conversions) is not
// seen.
#include "preload/unload.h"

#include <atomic>

#include "os/sys.h"
#include "preload/real.h"
#include "preload/spin_site.h"
#include "preload/wait.h"

namespace roost {
namespace {

std::atomic<unsigned> unloading{0}, writing{0};
ROOST_LISTED constinit Real<int(void*)> real_dlclose{"dlclose"};

}  // namespace

WhileLoaded::WhileLoaded() {
  writing.fetch_add(1, std::memory_order_seq_cst);
  loaded_ = unloading.load(std::memory_order_seq_cst) == 0;
}

WhileLoaded::~WhileLoaded() { writing.fetch_sub(1, std::memory_order_release); }

void unload_after_fork() { writing.store(0, std::memory_order_relaxed); }

ROOST_EXPORT int dlclose(void* handle) {
  constexpr Nanoseconds kAWhile = 50'000;
  unloading.fetch_add(1, std::memory_order_seq_cst);
  while (writing.load(std::memory_order_seq_cst) != 0) os::sleep_for(kAWhile);
  int result = real_dlclose(handle);
  spin_sites_forget_unloaded();
  unloading.fetch_sub(1, std::memory_order_release);
  return result;
}

}  // namespace roost

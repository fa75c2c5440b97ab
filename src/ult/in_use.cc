// Forks that do not see the library in use, and who waits for them.
#include "ult/in_use.h"

#include <atomic>

#include "ult/host.h"
#include "ult/kernel.h"

namespace roost::ult {
namespace {

constinit std::atomic<bool> in_use{false};
constinit std::atomic<bool> seen_by_all{false};  // every fork from now on
constinit std::atomic<unsigned> blind{0};        // forks under way that have not seen it

}  // namespace

void begin_use() {
  // A handler of the program's, around its fork, may use OpenMP: then that is not waited for.
  constexpr Nanoseconds kLongestWait = 100'000'000;
  if (seen_by_all.load(std::memory_order_acquire)) return;
  in_use.store(true, std::memory_order_seq_cst);  // [fork-1]
  Nanoseconds until = 0;
  while (blind.load(std::memory_order_seq_cst)) {  // [fork-1]
    Nanoseconds now = kernel::now();
    if (!until) until = now + kLongestWait;
    if (now > until) break;
    host::yield();
  }
  seen_by_all.store(true, std::memory_order_release);
}

bool is_used_at_fork() {
  blind.fetch_add(1, std::memory_order_seq_cst);  // [fork-1]
  bool used = in_use.load(std::memory_order_seq_cst);
  if (used) blind.fetch_sub(1, std::memory_order_relaxed);
  return used;
}
void blind_fork_is_over() { blind.fetch_sub(1, std::memory_order_release); }
void forget_blind_forks() { blind.store(0, std::memory_order_relaxed); }

}  // namespace roost::ult

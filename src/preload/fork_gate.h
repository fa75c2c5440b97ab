// Sections that no fork of this process cuts in two.
//
// A child of fork has the memory as it was at that moment, and nobody there who finishes what
// another thread had begun. libc takes care of most of its own locks, but not of the one that
// dl_iterate_phdr holds (glibc 2.36 and before): a child forked meanwhile waits for it for ever.
//
// Two counts, Dekker's way: who enters counts itself in, then looks for forks; a fork announces
// itself, then looks for who is inside. Neither waits for longer than kLongestWait: the linker's
// lock may be held by a thread that cannot go on before the fork is over (a callback of the
// program that wants a lock which a fork handler of the program has taken). Both go on then, as
// they would without Roost.
#pragma once

#include <link.h>

#include "sched/self.h"

namespace roost {

// Not to be nested. To signal handlers the thread is inside Roost meanwhile.
class Unforked {
 public:
  static constexpr Nanoseconds kLongestWait = 100'000'000;
  Unforked();
  // Where a fork is under way, says so and does not wait: for signal handlers.
  struct Unless {};
  explicit Unforked(Unless);
  ~Unforked();
  explicit operator bool() const { return entered_; }
  Unforked(const Unforked&) = delete;
  Unforked& operator=(const Unforked&) = delete;

 private:
  bool entered_ = true;
};

// dl_iterate_phdr in such a section.
int walk_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data);

// Fork handlers, around the fork in the parent and after it in the child (pthread_atfork).
void fork_gate_close();
void fork_gate_open();
void fork_gate_after_fork();

}  // namespace roost

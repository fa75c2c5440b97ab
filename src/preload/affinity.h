// Affinity hints, for the wrappers, for syscall() and across exec.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "topo/cpulist.h"

namespace roost {

// Whether `pid` (0: the caller) names a thread whose affinity Roost decides.
bool affinity_is_ours(pid_t pid);
// 0 or a positive errno value.
int set_affinity_hint(pid_t pid, std::size_t bytes, const void* set);
// As the system call: the bytes it writes, or -errno.
long get_affinity_hint(pid_t pid, std::size_t bytes, void* set);

// Takes over what the image before this one, or the parent, left in the environment, and removes
// that. By the first thread, once it has joined.
void inherit_affinity_hint(char** environment);

// The calling thread's hint as a variable of the environment that an exec or a spawn hands on. Has
// no use of the heap: it serves children of vfork, too.
class HintVariable {
 public:
  HintVariable();
  bool needed() const { return text_.length() > 0; }
  // Entries of an array that put_before() fills.
  std::size_t room(char* const* environment) const;
  char* const* put_before(char* const* environment, char** room);

 private:
  Text<4096> text_;
};

// Calls `make(environment)` with the hint in it, if there is one.
template <class Make>
int with_affinity_hint(char* const* environment, Make&& make) {
  HintVariable hint;
  if (!hint.needed() || !environment) return make(environment);
  constexpr std::size_t kMost = 1 << 16;  // on the stack
  std::size_t room = hint.room(environment);
  if (room > kMost) return make(environment);
  auto** entries = static_cast<char**>(__builtin_alloca(room * sizeof(char*)));
  return make(hint.put_before(environment, entries));
}

}  // namespace roost

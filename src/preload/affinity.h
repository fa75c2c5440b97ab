// Affinity hints, for the wrappers, for syscall() and across exec.
#pragma once

#include <string.h>
#include <sys/types.h>

#include <cstddef>

#include "base/text.h"

namespace roost {

// Whether `pid` (0: the caller) names a thread whose affinity Roost decides.
bool affinity_is_ours(pid_t pid);
// 0 or a positive errno value.
int set_affinity_hint(pid_t pid, std::size_t bytes, const void* set);
// As the system call: the bytes it writes, or -errno.
long get_affinity_hint(pid_t pid, std::size_t bytes, void* set);

// A program that has opened `path` may be about to read there which CPUs one of its threads is
// allowed (libnuma does: /proc/self/status): the thread's next grant pins it again, until then it
// has the whole instance. For signal handlers as well; any other path does nothing.
void show_whole_affinity(const char* path);

// Takes over what the image before this one, or the parent, left in the environment, and removes
// that. By the first thread, once it has joined.
void inherit_affinity_hint(char** environment);

// The calling thread's hint as a variable of the environment, which an exec or a spawn hands on;
// empty if it has none.
Text<4096> affinity_variable();

// Calls `make(environment)` with the hint in it, if there is one. Has no use of the heap: it serves
// children of vfork, too.
template <class Make>
int with_affinity_hint(char* const* environment, Make&& make) {
  Text<4096> hint = affinity_variable();
  if (!hint.length() || !environment) return make(environment);
  std::size_t count = 0;
  while (environment[count]) ++count;
  constexpr std::size_t kMost = 1 << 16;  // on the stack
  if (count + 2 > kMost) return make(environment);
  auto** entries = static_cast<char**>(__builtin_alloca((count + 2) * sizeof(char*)));
  entries[0] = const_cast<char*>(hint.c_str());
  memcpy(entries + 1, environment, (count + 1) * sizeof(char*));
  return make(entries);
}

}  // namespace roost

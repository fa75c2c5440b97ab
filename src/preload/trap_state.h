// What the trap's files share: the process's state, and the thread's.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

namespace roost {

enum class TrapState : std::uint8_t {
  off,       // not asked for, or not to be had
  watching,  // no object with inline calls is known yet
  wanted,    // every managed thread traps
  given_up,  // trapped once, no longer
};
extern std::atomic<TrapState> trap_state;
extern std::atomic<std::uint64_t> trapped_calls;

struct TrapSelf {
  bool enabled = false;         // the kernel dispatches this thread's calls to us
  bool counted = false;         // among the trapping threads
  bool blocks_sigsys = false;   // so the thread believes
  bool holds_sigsys = false;    // one was sent meanwhile
  std::uint8_t looks_left = 0;  // after a dlopen, while no new object has appeared
  std::uint8_t looks_in_handlers_left = 0;
  siginfo_t held = {};
};
extern constinit thread_local TrapSelf trap_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The SIGSYS handler (trap_handler.cc), and the si_code of a trapped call (SYS_USER_DISPATCH).
inline constexpr int kUserDispatch = 2;
void on_sigsys(int signal, siginfo_t* info, void* context);

// Whether the program has loaded an object with inline calls that wait (trap_objects.cc). Looks
// only at objects it has not seen yet.
bool inline_waits_loaded();
// Whether the program itself, not only a library, is written in Go.
bool program_is_go();
// Whether it names any library that it needs. One that does not makes all its system calls and
// threads without libc; Go's runtime then has its own thread pointer, too.
bool program_has_libraries();
// In the child of a fork: whoever was looking does not exist here.
void objects_after_fork();
// Whether objects may have come since the last look.
bool objects_may_be_new();
// The text of the object that `inside` lies in, of the program if it is null; false if there is
// none.
struct TextRange {
  std::uintptr_t start, length;

  bool contains(std::uintptr_t address) const { return address - start < length; }
};
bool find_text(const void* inside, TextRange& range);

// Where a `syscall` instruction in libc's text is, from which the kernel lets calls through.
extern const void* syscall_in_libc;
// Libroost's own text.
extern TextRange own_text;

}  // namespace roost

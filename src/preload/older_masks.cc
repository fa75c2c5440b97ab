// sighold, sigrelse, sigblock, sigsetmask, siggetmask and sigpause: made of sigprocmask and
// sigsuspend, as libc's are, which reach libc's own past us.
#include <errno.h>
#include <signal.h>

#include "preload/blocking.h"
#include "preload/in_handler.h"
#include "preload/signal_set.h"

namespace roost {
namespace {

int change_one(int how, int signal) {
  constexpr int kOfLibc[] = {32, 33};
  if (!is_signal(signal) || signal == kOfLibc[0] || signal == kOfLibc[1]) {
    errno = EINVAL;
    return -1;
  }
  const sigset_t set = set_of(signal_bit(signal));
  return sigprocmask(how, &set, nullptr);
}

// Of BSD: the first 32 signals, in an int.
sigset_t set_of_bsd(int mask) { return set_of(static_cast<unsigned>(mask)); }
int change_bsd(int how, int mask) {
  const sigset_t set = set_of_bsd(mask);
  sigset_t before;
  if (sigprocmask(how, &set, &before) != 0) return -1;
  return static_cast<int>(word_of(before));
}

int suspend_without(int signal) {
  sigset_t set;
  if (!is_signal(signal)) {
    errno = EINVAL;
    return -1;
  }
  if (sigprocmask(SIG_BLOCK, nullptr, &set) != 0) return -1;
  set_word(set, word_of(set) & ~signal_bit(signal));
  return sigsuspend(&set);
}
int suspend_with(int mask) {
  const sigset_t set = set_of_bsd(mask);
  return sigsuspend(&set);
}

}  // namespace

ROOST_EXPORT int sighold(int signal) noexcept { return change_one(SIG_BLOCK, signal); }
ROOST_EXPORT int sigrelse(int signal) noexcept { return change_one(SIG_UNBLOCK, signal); }

ROOST_EXPORT int sigblock(int mask) noexcept { return change_bsd(SIG_BLOCK, mask); }
ROOST_EXPORT int sigsetmask(int mask) noexcept { return change_bsd(SIG_SETMASK, mask); }
ROOST_EXPORT int siggetmask() noexcept { return change_bsd(SIG_BLOCK, 0); }

// sigpause is BSD's or the standard's, by how the program was compiled.
ROOST_EXPORT int __sigpause(int signal_or_mask, int is_signal) {
  return is_signal ? suspend_without(signal_or_mask) : suspend_with(signal_or_mask);
}
ROOST_EXPORT int __xpg_sigpause(int signal) { return suspend_without(signal); }

// Declared under that very name, or as the other.
extern "C" __attribute__((visibility("default"))) int roost_bsd_sigpause(int mask) asm("sigpause");
int roost_bsd_sigpause(int mask) { return suspend_with(mask); }

}  // namespace roost

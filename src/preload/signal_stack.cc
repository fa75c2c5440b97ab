// What the program believes of its alternate stack, and what is in force.
#include "preload/signal_stack.h"

#include <algorithm>
#include <iterator>

#include "os/sys.h"
#include "preload/lock.h"
#include "preload/nudge.h"
#include "preload/stack_pool.h"
#include "preload/trap_signals.h"
#include "sched/self.h"

namespace roost {
namespace {

// What a thread may need that waits in the handler, with handlers of the program above it.
constexpr std::size_t kLarge = 32 << 10;

#if !defined(SS_AUTODISARM)
constexpr int SS_AUTODISARM = static_cast<int>(1u << 31);  // linux/signal.h
#endif

constexpr stack_t kNone = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};

// Stacks of the program's that are in force, each for one thread: programs give one to many, as
// only a fatal signal will come there (varnishd), or so they believe.
struct InForce {
  std::uint64_t begin, end;
  int tid;  // 0: none
};
constinit InForce in_force[256] = {};
constinit InForce* in_force_end = in_force;  // none has been noted from here on
constinit Lock in_force_lock;

// By a thread that has no claim: whether the stack is its alone from now on; not if there is no
// room to note it.
bool claim(const stack_t& stack) {
  std::uint64_t begin = os::arg(stack.ss_sp), end = begin + stack.ss_size;
  LockGuard guard(in_force_lock);
  InForce* free = nullptr;
  for (InForce* it = in_force; it != in_force_end; ++it) {
    if (it->tid == 0) {
      free = it;
    } else if (it->begin < end && begin < it->end) {
      return false;
    }
  }
  if (!free && in_force_end == std::end(in_force)) return false;
  if (!free) free = in_force_end++;
  *free = {begin, end, os::gettid()};
  return true;
}

void give_up_claim() {
  int tid = os::gettid();
  LockGuard guard(in_force_lock);
  for (InForce* it = in_force; it != in_force_end; ++it)
    if (it->tid == tid) it->tid = 0;
}

constinit thread_local char* lent = nullptr;
constinit thread_local stack_t asked = kNone;

long set(const stack_t* wanted, stack_t* before = nullptr) {
  return os::raw_syscall(SYS_sigaltstack, os::arg(wanted), os::arg(before));
}

stack_t lent_stack() { return {.ss_sp = lent, .ss_flags = 0, .ss_size = kPooledStackBytes}; }

long set_lent() {
  stack_t stack = lent_stack();
  return set(&stack);
}

long change(const stack_t& wanted) {
  bool none = wanted.ss_flags & SS_DISABLE;
  // The kernel says whether it is a stack. Meanwhile the signal is blocked: the stack may be
  // another thread's as well.
  NoSignals while_in_doubt;
  if (long error = none ? set_lent() : set(&wanted)) return error;
  asked = none ? kNone : wanted;
  give_up_claim();
  if (none || wanted.ss_flags & SS_AUTODISARM) return 0;
  return wanted.ss_size < kLarge || !claim(wanted) ? set_lent() : 0;
}

}  // namespace

void signal_stack_start() {
  stack_t now = {};
  if (lent || !nudge_signal() || set(nullptr, &now) != 0) return;
  if (!(now.ss_flags & SS_DISABLE) || !(lent = take_pooled_stack())) return;
  if (set_lent() == 0) return;
  give_pooled_stack(lent);
  lent = nullptr;
}

void signal_stack_end() {
  if (!lent) return;
  give_up_claim();
  if (set(&asked) != 0) return;  // it may be at its end on it
  give_pooled_stack(lent);
  lent = nullptr;
}

void signal_stacks_after_fork() {
  in_force_lock.reset();
  std::fill(in_force, in_force_end, InForce{});
  in_force_end = in_force;
  stack_t now = {};
  if (lent && set(nullptr, &now) == 0 && now.ss_sp != lent) claim(now);
}

long program_sigaltstack(const stack_t* wanted, stack_t* before) {
  bool seen = (!wanted || readable(os::arg(wanted))) && (!before || readable(os::arg(before)));
  stack_t now = {};
  if (!lent || !seen || set(nullptr, &now) != 0) return set(wanted, before);
  int on_it = now.ss_flags & SS_ONSTACK;
  if (now.ss_sp != lent) {  // by an inline call
    asked = now;
    asked.ss_flags &= ~SS_ONSTACK;
  }
  // A handler that finds itself on Roost's is told so.
  stack_t old = on_it && asked.ss_flags & SS_DISABLE ? lent_stack() : asked;
  old.ss_flags |= on_it;
  long error = wanted ? change(*wanted) : 0;
  if (error == 0 && before) *before = old;
  return error;
}

}  // namespace roost

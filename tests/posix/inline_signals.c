// SIGSYS, signal masks, seccomp and a program's own dispatch of system calls, beside inline calls.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ucontext.h>

#include "child.h"
#include "inline_syscall.h"

// Threads that wait for each other by inline calls, started and ended.
static void use_threads(void) {
  pthread_t threads[3];
  uint32_t door = 0;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, inline_await_set, &door), 0);
  EXPECT_EQ(INLINE(SYS_sched_yield), 0);
  inline_set(&door, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}
static void use_inline_calls(void) {
  const struct timespec soon = {0, 500000};
  uint32_t word = 0;
  EXPECT_EQ(inline_futex_wait(&word, 0, &soon), -ETIMEDOUT);
  EXPECT_EQ(INLINE(SYS_getpid), getpid());
}

static volatile sig_atomic_t handled, last_code, last_number;
static void note(int number, siginfo_t* info, void* context) {
  (void)context;
  ++handled;
  last_number = number;
  last_code = info->si_code;
  use_inline_calls();
}
static void handle(int number, int flags, struct sigaction* old) {
  struct sigaction action = {.sa_flags = SA_SIGINFO | flags};
  action.sa_sigaction = note;
  sigfillset(&action.sa_mask);
  EXPECT_EQ(sigaction(number, &action, old), 0);
  handled = 0;
}

CASE(a_program_may_handle_sigsys_itself) {
  use_threads();
  struct sigaction old, again;
  handle(SIGSYS, SA_RESTART, &old);
  EXPECT(old.sa_handler == SIG_DFL);
  EXPECT_EQ(raise(SIGSYS), 0);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(last_number, SIGSYS);
  EXPECT_EQ(last_code, SI_TKILL);
  use_inline_calls();
  EXPECT_EQ(sigaction(SIGSYS, NULL, &again), 0);
  EXPECT(again.sa_sigaction == note);
  EXPECT(again.sa_flags & SA_RESTART && sigismember(&again.sa_mask, SIGUSR2));
  EXPECT(signal(SIGSYS, SIG_IGN) == (void (*)(int))(uintptr_t)note);
  EXPECT_EQ(raise(SIGSYS), 0);
  EXPECT_EQ(handled, 1);
  EXPECT(signal(SIGSYS, SIG_DFL) == SIG_IGN);
  use_threads();
}
CASE(a_handler_may_be_for_once) {
  use_threads();
  handle(SIGSYS, SA_RESETHAND, NULL);
  EXPECT_EQ(raise(SIGSYS), 0);
  struct sigaction now;
  EXPECT_EQ(sigaction(SIGSYS, NULL, &now), 0);
  EXPECT(now.sa_handler == SIG_DFL);
}
static void die_of_sigsys(void) {
  signal(SIGSYS, SIG_DFL);
  use_threads();
  kill(getpid(), SIGSYS);
}
CASE(without_a_handler_sigsys_ends_the_process) {
  EXPECT_EQ(outcome_in_child(die_of_sigsys), -SIGSYS);
}

static void* check_inherited_mask(void* unused) {
  (void)unused;
  sigset_t now;
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
  EXPECT(sigismember(&now, SIGSYS) && sigismember(&now, SIGUSR1));
  use_inline_calls();
  return NULL;
}
CASE(all_signals_may_be_blocked_and_are_told_so) {
  sigset_t all, old, now;
  sigfillset(&all);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &all, &old), 0);
  EXPECT(!sigismember(&old, SIGSYS));
  use_inline_calls();
  use_threads();
  EXPECT_EQ(sigprocmask(SIG_BLOCK, NULL, &now), 0);
  EXPECT(sigismember(&now, SIGSYS) && sigismember(&now, SIGUSR1));
  pthread_t thread;
  for (int i = 0; i < 2; ++i) {  // the second one may be a thread used again
    EXPECT_EQ(pthread_create(&thread, NULL, check_inherited_mask, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &old, &now), 0);
  EXPECT(sigismember(&now, SIGSYS));
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
  EXPECT(!sigismember(&now, SIGSYS));
}
CASE(so_they_may_by_inline_calls) {
  use_threads();
  uint64_t all = ~0ull, old = 0, now = 0;
  EXPECT_EQ(INLINE(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8), 0);
  use_inline_calls();
  EXPECT_EQ(INLINE(SYS_rt_sigprocmask, SIG_BLOCK, 0, &now, 8), 0);
  EXPECT(now >> (SIGSYS - 1) & 1);
  EXPECT(now >> (SIGUSR1 - 1) & 1);
  handle(SIGUSR1, 0, NULL);
  EXPECT_EQ(INLINE(SYS_tgkill, getpid(), gettid(), SIGUSR1), 0);
  use_inline_calls();
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(INLINE(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8), 0);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(INLINE(SYS_rt_sigprocmask, SIG_SETMASK, 8, 0, 8), -EFAULT);
  EXPECT_EQ(INLINE(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 4), -EINVAL);
  EXPECT_EQ(INLINE(SYS_rt_sigprocmask, 99, &old, 0, 8), -EINVAL);
}
CASE(a_blocked_sigsys_comes_when_it_is_unblocked) {
  use_threads();
  handle(SIGSYS, 0, NULL);
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGSYS);
  EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
  EXPECT_EQ(raise(SIGSYS), 0);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(sigpending(&pending), 0);
  EXPECT(sigismember(&pending, SIGSYS));
  use_inline_calls();
  EXPECT_EQ(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(last_code, SI_TKILL);
  signal(SIGSYS, SIG_DFL);
}
CASE(handlers_that_block_everything_may_use_inline_calls) {
  use_threads();
  struct sigaction old;
  handle(SIGUSR1, 0, NULL);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(handled, 10);
  EXPECT_EQ(sigaction(SIGUSR1, NULL, &old), 0);
  EXPECT(sigismember(&old.sa_mask, SIGSYS));
  EXPECT_EQ(signal(SIGUSR1, SIG_DFL) == SIG_ERR, 0);
}

CASE(a_vfork_child_has_actions_and_a_mask_of_its_own) {
  sigset_t all, old, now;
  sigfillset(&all);
  struct sigaction standard = {.sa_flags = 0}, own;
  standard.sa_handler = SIG_DFL;
  handle(SIGSYS, 0, NULL);
  pid_t child = vfork();
  EXPECT(child >= 0);
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &all, &old);
    sigaction(SIGSYS, &standard, NULL);
    sigaction(SIGUSR1, &standard, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    execl("/bin/true", "true", (char*)0);
    _exit(127);
  }
  EXPECT_EQ(outcome_of(child), 0);
  EXPECT_EQ(sigaction(SIGSYS, NULL, &own), 0);
  EXPECT(own.sa_sigaction == note);
  EXPECT_EQ(sigprocmask(SIG_BLOCK, NULL, &now), 0);
  EXPECT(!sigismember(&now, SIGUSR1));
  use_threads();
  EXPECT_EQ(raise(SIGSYS), 0);
  EXPECT_EQ(handled, 1);
  signal(SIGSYS, SIG_DFL);
}

#if defined(__x86_64__)
struct kernel_action {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};
__attribute__((naked)) static void own_restorer(void) { __asm__("mov $15, %eax\n syscall\n hlt"); }
CASE(a_handler_may_return_by_a_restorer_of_its_own) {
  use_threads();
  const unsigned long kRestorer = 0x04000000;
  struct kernel_action action = {note, SA_SIGINFO | kRestorer, own_restorer, ~0ull}, old;
  EXPECT_EQ(INLINE(SYS_rt_sigaction, SIGUSR2, &action, 0, 8), 0);
  handled = 0;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(raise(SIGUSR2), 0);
  EXPECT_EQ(handled, 10);
  EXPECT_EQ(INLINE(SYS_rt_sigaction, SIGUSR2, 0, &old, 8), 0);
  EXPECT(old.handler == note && old.mask >> (SIGSYS - 1) & 1);
  EXPECT_EQ(INLINE(SYS_rt_sigaction, SIGUSR2, 8, 0, 8), -EFAULT);
  EXPECT_EQ(INLINE(SYS_rt_sigaction, 99, 0, &old, 8), -EINVAL);
}
CASE(sigsys_may_be_handled_by_inline_calls) {
  use_threads();
  struct kernel_action action = {note, SA_SIGINFO | 0x04000000, own_restorer, 0}, old;
  EXPECT_EQ(INLINE(SYS_rt_sigaction, SIGSYS, &action, &old, 8), 0);
  EXPECT(old.handler == NULL);
  handled = 0;
  EXPECT_EQ(raise(SIGSYS), 0);
  EXPECT_EQ(handled, 1);
  use_inline_calls();
  EXPECT_EQ(INLINE(SYS_rt_sigaction, SIGSYS, &old, &action, 8), 0);
  EXPECT(action.handler == note);
}

// What seccomp does to `number`; everything else is allowed.
static void filter(long number, uint32_t verdict) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, verdict),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  EXPECT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}
static void answer(int number, siginfo_t* info, void* data) {
  ucontext_t* context = (ucontext_t*)data;
  EXPECT_EQ(number, SIGSYS);
  EXPECT_EQ(info->si_code, 1 /* SYS_SECCOMP */);
  EXPECT_EQ(context->uc_mcontext.gregs[REG_RAX], SYS_getppid);
  context->uc_mcontext.gregs[REG_RAX] = 4711;
  ++handled;
}
static void emulate_a_call(void) {
  use_threads();
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = answer;
  EXPECT_EQ(sigaction(SIGSYS, &action, NULL), 0);
  filter(SYS_getppid, SECCOMP_RET_TRAP);
  handled = 0;
  EXPECT_EQ(INLINE(SYS_getppid), 4711);
  EXPECT_EQ(getppid(), 4711);
  EXPECT_EQ(handled, 2);
  use_inline_calls();
  use_threads();
  EXPECT_EQ(INLINE(SYS_getppid), 4711);
}
CASE(a_seccomp_handler_may_emulate_calls) { EXPECT_EQ(outcome_in_child(emulate_a_call), 0); }
static void be_filtered(void) {
  use_threads();
  signal(SIGSYS, SIG_DFL);
  filter(SYS_getppid, SECCOMP_RET_TRAP);
  use_inline_calls();
  INLINE(SYS_getppid);
}
CASE(without_a_handler_a_seccomp_trap_ends_the_process) {
  EXPECT_EQ(outcome_in_child(be_filtered), -SIGSYS);
}
static void use_no_prctl(void) {
  filter(SYS_prctl, SECCOMP_RET_KILL);
  use_threads();
  use_inline_calls();
}
static void use_prctl_no_longer(void) {
  use_threads();
  use_no_prctl();
}
CASE(a_filter_may_forbid_prctl) {
  EXPECT_EQ(outcome_in_child(use_no_prctl), 0);
  EXPECT_EQ(outcome_in_child(use_prctl_no_longer), 0);
}
ROLE(filtered_from_the_start) {
  use_threads();
  use_inline_calls();
}
static void exec_filtered(void) {
  filter(SYS_prctl, SECCOMP_RET_KILL);
  execl("/proc/self/exe", "role", "@filtered_from_the_start", (char*)0);
}
CASE(a_program_may_start_with_such_a_filter) { EXPECT_EQ(outcome_in_child(exec_filtered), 0); }

// A program that dispatches its own calls.
static volatile char selector;
static void own_dispatch(int number, siginfo_t* info, void* data) {
  (void)number;
  selector = 0;
  if (info->si_code == 2) {
    ++handled;
    ((ucontext_t*)data)->uc_mcontext.gregs[REG_RAX] = 4712;
  }
}
static void dispatch_own_calls(void) {
  use_threads();
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = own_dispatch;
  EXPECT_EQ(sigaction(SIGSYS, &action, NULL), 0);
  handled = 0;
  if (prctl(59, 1, 0, 0, &selector) != 0) _exit(0);  // this kernel has no dispatch
  selector = 1;
  long result = INLINE(SYS_getppid);
  EXPECT_EQ(result, 4712);
  EXPECT_EQ(handled, 1);
  use_threads();
  use_inline_calls();
}
CASE(a_program_may_dispatch_its_own_calls) { EXPECT_EQ(outcome_in_child(dispatch_own_calls), 0); }
#endif

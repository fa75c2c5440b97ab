// When a thread's inline system calls are trapped.
#include "preload/trap.h"

#include <gnu/libc-version.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "os/file.h"
#include "os/sys.h"
#include "preload/blas_calls.h"
#include "preload/go_calls.h"
#include "preload/in_handler.h"
#include "preload/lock.h"
#include "preload/stopped_threads.h"
#include "preload/trap_signals.h"
#include "preload/trap_state.h"
#include "preload/wait.h"

#if defined(__x86_64__)
extern "C" __attribute__((visibility("hidden"), cold)) void roost_look_after_dlopen();
extern "C" __attribute__((visibility("hidden"))) std::atomic<std::uint32_t> roost_opened_objects;
#endif

namespace roost {

std::atomic<TrapState> trap_state{TrapState::off};
std::atomic<std::uint64_t> trapped_calls{0};
constinit thread_local TrapSelf trap_self;
const void* syscall_in_libc;
TextRange own_text;

#if defined(__x86_64__)
namespace {

constexpr std::uint8_t kLooksAfterDlopen = 16;
// Each of these takes up to some hundred microseconds.
constexpr std::uint8_t kLooksInHandlers = 64;

bool on_request;  // not found out
std::atomic<std::uint32_t> trapping_threads{0};
constinit Lock setup_lock;
TextRange libc_text;

bool find_texts() {
  auto* code = reinterpret_cast<const unsigned char*>(&gnu_get_libc_version);
  if (!find_text(code, libc_text) ||
      !find_text(reinterpret_cast<const void*>(&on_sigsys), own_text))
    return false;
  code = reinterpret_cast<const unsigned char*>(libc_text.start);
  syscall_in_libc = memmem(code, libc_text.length, "\x0f\x05", 2);
  return syscall_in_libc && real::syscall.get();  // the handler must not have to look for it
}

long dispatch(int mode) {
  if (mode == PR_SYS_DISPATCH_OFF)
    return os::raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, mode);
  return os::raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, mode,
                         static_cast<long>(libc_text.start), static_cast<long>(libc_text.length),
                         os::arg(const_cast<char*>(&os::roost_trap_selector.now)));
}

bool filtered() {
  os::LineReader status("/proc/self/status");
  while (const char* line = status.next()) {
    if (strcmp(line, "Seccomp:\t2") == 0) return true;
  }
  return false;
}

// A seccomp filter that we were started with may end the process for the attempt: a child makes it.
bool permitted() {
  if (!filtered()) return true;
  long child = os::raw_syscall(SYS_clone);
  if (child < 0) return false;
  if (child == 0) os::raw_syscall(SYS_exit_group, dispatch(PR_SYS_DISPATCH_OFF) == 0 ? 0 : 1);
  int status = -1;
  while (os::raw_syscall(SYS_wait4, child, os::arg(&status), __WALL) == -EINTR) {
  }
  return status == 0;
}

bool set_up() { return find_texts() && permitted() && own_sigsys(); }

// Where the vDSO itself has to ask the kernel for the time, each look at a clock would be a trap.
bool clock_traps() {
  std::uint64_t before = trapped_calls.load(std::memory_order_relaxed);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return trapped_calls.load(std::memory_order_relaxed) != before;
}

void select(char selector) {
  os::roost_trap_selector.armed = selector;
  os::roost_trap_selector.now = selector;
}

void enable_here() {
  hide_blocked_sigsys();
  if (!trap_self.enabled && dispatch(PR_SYS_DISPATCH_ON) != 0) return;
  trap_self.enabled = true;
  if (!trap_self.counted) trapping_threads.fetch_add(1, std::memory_order_seq_cst);
  trap_self.counted = true;
  go_calls_take_stack();
  select(1);
}

void count_out() {
  if (trap_self.counted) trapping_threads.fetch_sub(1, std::memory_order_seq_cst);
  trap_self.counted = false;
}

void say_unavailable() {
  constexpr char kText[] =
      "roost: inline system calls cannot be trapped here (roost doctor says why); --trap on is "
      "ignored\n";
  os::write(2, kText, sizeof kText - 1);
}

// The process wants the trap from now on: the caller at once, other threads at their next
// scheduling point.
void begin() {
  {
    LockGuard guard(setup_lock);
    if (trap_state.load(std::memory_order_relaxed) != TrapState::watching) return;
    bool usable = set_up();
    if (usable) {
      trap_state.store(TrapState::wanted, std::memory_order_release);
      enable_here();
      usable = trap_self.enabled && (on_request || !clock_traps());
    }
    if (!usable) trap_state.store(TrapState::given_up, std::memory_order_release);
  }
  if (trap_state.load(std::memory_order_relaxed) == TrapState::wanted) {
    scheduling_epoch.fetch_add(1, std::memory_order_release);
  } else if (on_request) {
    say_unavailable();
  }
}

void look() {
  if (trap_state.load(std::memory_order_relaxed) == TrapState::watching && inline_waits_loaded())
    begin();
}

// Whether the process's first thread is about to start a Go program, whose runtime asks by inline
// calls how many CPUs there are before it creates threads.
bool is_started_go() {
  static constinit std::atomic<bool> asked{false};
  return !asked.exchange(true, std::memory_order_relaxed) && program_is_go();
}

// A handler may have interrupted dlopen or dlclose. The linker's lock would let it in, to lists
// that are half changed; in the child of a fork it would wait for its parent's thread.
bool may_interrupt_linker() { return handled_signals() != 0 && perhaps_in_handler(); }

// At a scheduling point.
void look_or_enable() {
  if (roost_seen_epoch == kLookAgain && trap_self.looks_left == 0) {
    trap_self.looks_left = kLooksAfterDlopen;
    trap_self.looks_in_handlers_left = kLooksInHandlers;
  }
  bool again = false;
  if (trap_self.looks_left && trap_state.load(std::memory_order_relaxed) == TrapState::watching &&
      !inside_roost()) {
    // The object may only be on its way: libc's malloc can be a scheduling point inside dlopen.
    bool new_ones = objects_may_be_new();
    if (new_ones && may_interrupt_linker()) {
      if (--trap_self.looks_in_handlers_left == 0) trap_self.looks_left = 0;
      again = trap_self.looks_left;
    } else {
      --trap_self.looks_left;
      again = trap_self.looks_left && !new_ones;
      if (!again) look();
    }
  }
  if (!again) trap_self.looks_left = 0;
  roost_seen_epoch = again ? kLookAgain : scheduling_epoch.load(std::memory_order_acquire);
  if (self.record && trap_state.load(std::memory_order_acquire) == TrapState::wanted) enable_here();
}

}  // namespace

void trap_configure(TrapMode mode) {
  if (mode == TrapMode::off) return;
  on_request = mode == TrapMode::on;
  at_new_epoch = look_or_enable;
  trap_state.store(TrapState::watching, std::memory_order_release);
}

void trap_thread_starts() {
  TrapState state = trap_state.load(std::memory_order_acquire);
  if (!self.record) return;
  if (state == TrapState::off) {
    // Nobody answers in the kernel's place: until it first waits it may run anywhere.
    if (is_started_go()) unpin_self();
    return;
  }
  hide_blocked_sigsys();
  bool go = state == TrapState::watching && is_started_go();
  if (state == TrapState::watching && (on_request || go)) begin();
  if (trap_state.load(std::memory_order_acquire) != TrapState::wanted) return;
  if (go) go_calls_start();
  enable_here();
}

void trap_thread_pauses() { select(0); }

void trap_thread_resumes() {
  if (trap_self.enabled && trap_state.load(std::memory_order_relaxed) == TrapState::wanted)
    select(1);
}

void trap_thread_ends() {
  select(0);
  count_out();
  go_calls_give_stack();
}

bool trap_sees_all_threads() {
  switch (trap_state.load(std::memory_order_acquire)) {
    case TrapState::watching:
      return !objects_may_be_new();
    case TrapState::wanted:
      return trapping_threads.load(std::memory_order_seq_cst) == runtime_thread_count();
    default:
      return false;
  }
}

void trap_before_thread() {
  if (trap_state.load(std::memory_order_relaxed) == TrapState::watching && !inside_roost() &&
      objects_may_be_new())
    look();
}

void trap_after_fork() {
  setup_lock.reset();
  objects_after_fork();
  trap_self.enabled = trap_self.counted = false;
  trapping_threads.store(0, std::memory_order_relaxed);
  trap_self.holds_sigsys = false;
  select(0);
  if (self.record && trap_state.load(std::memory_order_relaxed) == TrapState::wanted) enable_here();
}

void trap_give_up() {
  if (!trap_configured()) return;
  trap_state.store(TrapState::given_up, std::memory_order_release);
  select(0);
  if (trap_self.enabled && dispatch(PR_SYS_DISPATCH_OFF) == 0) trap_self.enabled = false;
  count_out();
}
#else
void trap_configure(TrapMode) {}
void trap_thread_starts() {}
void trap_thread_pauses() {}
void trap_thread_resumes() {}
void trap_thread_ends() {}
bool trap_sees_all_threads() { return false; }
void trap_before_thread() {}
void trap_after_fork() {}
void trap_give_up() {}
#endif

bool trap_configured() { return trap_state.load(std::memory_order_relaxed) != TrapState::off; }
std::uint64_t trap_count() { return trapped_calls.load(std::memory_order_relaxed); }

}  // namespace roost

#if defined(__x86_64__)
void roost_look_after_dlopen() {
  if (!roost::can_park()) return;
  static constinit std::atomic<std::uint32_t> looked{0};
  std::uint32_t opened = roost_opened_objects.load(std::memory_order_relaxed);
  std::uint32_t before = looked.exchange(opened, std::memory_order_relaxed);
  if (opened != before) {
    roost::blas_calls_look_at_objects(opened == before + 1);
    roost::look_for_who_stops_threads();
  }
  roost::at_new_epoch();
}
#endif

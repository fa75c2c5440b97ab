// sched_setscheduler and its kin, and who is left to the kernel because of them.
#include "preload/realtime.h"

#include <sched.h>

#include "os/sys.h"
#include "preload/real.h"
#include "preload/wait.h"
#include "roost/roost.h"
#include "sched/runtime.h"

struct sched_attr;

namespace roost {
namespace {

constexpr int kDeadline = 6;  // SCHED_DEADLINE

// Whether a thread of this process ever had such a policy: new ones may inherit it.
std::atomic<bool> in_use{false};

bool is_realtime(int policy) {
  policy &= ~SCHED_RESET_ON_FORK;
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == kDeadline;
}

bool own_policy_is_realtime() {
  return is_realtime(static_cast<int>(os::raw_syscall(SYS_sched_getscheduler, 0)));
}

// Of another thread of this process, which follows before its next wait in the kernel.
void tell(Thread& t) {
  in_use.store(true, std::memory_order_relaxed);
  t.policy_changed.store(true, std::memory_order_release);
}

}  // namespace

void follow_own_policy() {
  Thread* t = this_thread();
  if (!t || inside_roost() || !in_managed_process()) return;
  t->policy_changed.store(false, std::memory_order_relaxed);
  bool realtime = own_policy_is_realtime();
  if (realtime) in_use.store(true, std::memory_order_relaxed);
  if (realtime == t->realtime) return;
  if (realtime) {
    t->realtime = roost_detach() == 0;
  } else {
    t->realtime = false;
    roost_attach();
  }
}

bool begins_realtime() {
  if (!in_use.load(std::memory_order_relaxed)) return false;
  Thread* t = this_thread();
  t->realtime = own_policy_is_realtime();
  return t->realtime;
}

void note_policy_of(const pthread_attr_t* attributes) {
  if (!attributes) return;
  int inherits = 0, policy = 0;
  pthread_attr_getinheritsched(attributes, &inherits);
  pthread_attr_getschedpolicy(attributes, &policy);
  if (inherits == PTHREAD_EXPLICIT_SCHED && is_realtime(policy))
    in_use.store(true, std::memory_order_relaxed);
}

void follow_policy_after_fork() {
  Thread* t = this_thread();
  if (!t || !t->realtime) return;
  t->realtime = false;
  follow_own_policy();
}

void note_policy_set(std::int32_t tid) {
  Thread* t = tid == 0 || tid == os::gettid() ? this_thread() : find_thread_by_tid(tid);
  never_reuse_for(t ? t : this_thread());
}

void policy_changed(std::int32_t tid) {
  if (tid == 0 || tid == os::gettid()) {
    follow_own_policy();
  } else if (Thread* t = find_thread_by_tid(tid)) {
    tell(*t);
  }
}

ROOST_EXPORT int sched_setscheduler(pid_t pid, int policy, const sched_param* parameters) noexcept {
  note_policy_set(pid);
  int result = real::sched_setscheduler(pid, policy, parameters);
  if (result >= 0) policy_changed(pid);
  return result;
}
ROOST_EXPORT int sched_setparam(pid_t pid, const sched_param* parameters) noexcept {
  note_policy_set(pid);
  return real::sched_setparam(pid, parameters);
}
// glibc has it since 2.41.
ROOST_EXPORT int sched_setattr(pid_t pid, sched_attr* attributes, unsigned flags) noexcept {
  note_policy_set(pid);
  auto result =
      static_cast<int>(real::syscall(SYS_sched_setattr, pid, os::arg(attributes), flags, 0, 0, 0));
  if (result >= 0) policy_changed(pid);
  return result;
}
ROOST_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
                                       const sched_param* parameters) noexcept {
  Thread* t = find_thread(thread);
  never_reuse_for(t);
  int error = real::pthread_setschedparam(thread, policy, parameters);
  if (error != 0 || !t) return error;
  if (t == this_thread()) {
    follow_own_policy();
  } else {
    tell(*t);
  }
  return 0;
}

}  // namespace roost

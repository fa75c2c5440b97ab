// libc's own functions behind the ones Roost interposes.
//
// Every interposed function reaches libc through real::name(...). A pointer is resolved at the
// first call (dlsym; safe before constructors), afterwards a call costs one predictable branch.
// Before the process's second thread and its first handler of a signal all are resolved: dlsym
// takes the linker's lock, which a thread may hold that runs a library's constructor and waits
// there for others, and which a handler would leave locked that jumps.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace roost {

// One of libc's functions, of whatever signature; lies in a section with all others.
class alignas(32) LibcFunction {
 public:
  constexpr explicit LibcFunction(const char* name, const char* version)
      : name_(name), version_(version) {}
  // The next definition after ours of the name at the version (null: the default). If libc has
  // none, null if it is `optional`; else aborts with one sentence.
  void* resolve(bool optional);
  const char* name() const { return name_; }
  // Once libc's calls are led, if it has been resolved before.
  void look_behind();

 protected:
  const char* name_;
  const char* version_;
  std::atomic<void*> pointer_{nullptr};
};
#define ROOST_LISTED __attribute__((section("roost_libc_functions")))
// The same of other libraries, and of newer libcs, which may not be there: the linker then asks
// malloc for its error.
#define ROOST_LISTED_APART __attribute__((section("roost_other_functions")))

// Resolves all there are, once. Before the caller starts a thread.
void resolve_functions();
// By lead_libc_calls(): the program's malloc may have had some resolved before.
void look_behind_led_functions();
// Of libc's alone: before the caller handles a signal, which the program's malloc may be about to.
void resolve_libc_functions();

template <class Signature>
class Real;

template <class R, class... Args>
class Real<R(Args...)> : public LibcFunction {
 public:
  constexpr explicit Real(const char* name, const char* version = nullptr)
      : LibcFunction(name, version) {}
  R operator()(Args... args) { return get()(args...); }
  using Pointer = R (*)(Args...);
  Pointer get() { return known(false); }
  // Null if this libc does not have it.
  Pointer find() { return known(true); }
  // What resolve_functions() found, null if nothing: never asks the linker.
  Pointer found() const {
    return reinterpret_cast<Pointer>(pointer_.load(std::memory_order_relaxed));
  }

 private:
  Pointer known(bool optional) {
    void* f = pointer_.load(std::memory_order_relaxed);
    return reinterpret_cast<Pointer>(__builtin_expect(f != nullptr, 1) ? f : resolve(optional));
  }
};

template <class R, class... Args>
class Real<R(Args...) noexcept> : public Real<R(Args...)> {
 public:
  using Real<R(Args...)>::Real;
};

// Names that glibc kept in two versions: the second is the one programs use since 2003.
inline constexpr const char* kCondVersion = "GLIBC_2.3.2";

// The nonnull and similar attributes of libc's declarations do not matter to a pointer.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
namespace real {
// NOLINTBEGIN(misc-definitions-in-headers): only where real.cc includes it
#ifdef ROOST_DEFINES_REAL
#define ROOST_REAL_OF(name, version, ...) \
  ROOST_LISTED constinit Real<__VA_ARGS__> name { #name, version }
#else
#define ROOST_REAL_OF(name, version, ...) extern Real<__VA_ARGS__> name
#endif
#define ROOST_REAL(name) ROOST_REAL_OF(name, nullptr, decltype(::name))
#define ROOST_REAL_AS(name, ...) ROOST_REAL_OF(name, nullptr, __VA_ARGS__)
#define ROOST_REAL_COND(name) ROOST_REAL_OF(name, kCondVersion, decltype(::name))
ROOST_REAL(pthread_create);
ROOST_REAL(pthread_join);
ROOST_REAL(pthread_tryjoin_np);
ROOST_REAL(pthread_timedjoin_np);
ROOST_REAL_AS(pthread_clockjoin_np, int(pthread_t, void**, clockid_t, const timespec*));
ROOST_REAL(pthread_detach);
ROOST_REAL(pthread_cancel);
ROOST_REAL(pthread_kill);
ROOST_REAL(pthread_getattr_np);
ROOST_REAL(pthread_setattr_default_np);
ROOST_REAL(pthread_setname_np);
ROOST_REAL(pthread_key_create);
ROOST_REAL(pthread_key_delete);
ROOST_REAL(pthread_mutex_lock);
ROOST_REAL(pthread_mutex_trylock);
ROOST_REAL(pthread_mutex_timedlock);
ROOST_REAL_AS(pthread_mutex_clocklock, int(pthread_mutex_t*, clockid_t, const timespec*));
ROOST_REAL(pthread_mutex_unlock);
ROOST_REAL(pthread_mutex_consistent);
ROOST_REAL_COND(pthread_cond_wait);
ROOST_REAL_COND(pthread_cond_timedwait);
ROOST_REAL_AS(pthread_cond_clockwait,
              int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*));
ROOST_REAL_COND(pthread_cond_signal);
ROOST_REAL_COND(pthread_cond_broadcast);
ROOST_REAL(pthread_rwlock_rdlock);
ROOST_REAL(pthread_rwlock_wrlock);
ROOST_REAL(pthread_rwlock_tryrdlock);
ROOST_REAL(pthread_rwlock_trywrlock);
ROOST_REAL(pthread_rwlock_timedrdlock);
ROOST_REAL(pthread_rwlock_timedwrlock);
ROOST_REAL_AS(pthread_rwlock_clockrdlock, int(pthread_rwlock_t*, clockid_t, const timespec*));
ROOST_REAL_AS(pthread_rwlock_clockwrlock, int(pthread_rwlock_t*, clockid_t, const timespec*));
ROOST_REAL(pthread_rwlock_unlock);
ROOST_REAL(pthread_barrier_wait);
ROOST_REAL(pthread_barrier_destroy);
ROOST_REAL(pthread_spin_trylock);
ROOST_REAL(sem_wait);
ROOST_REAL(sem_trywait);
ROOST_REAL(sem_timedwait);
ROOST_REAL_AS(sem_clockwait, int(sem_t*, clockid_t, const timespec*));
ROOST_REAL(sem_post);
ROOST_REAL(nanosleep);
ROOST_REAL(clock_nanosleep);
ROOST_REAL(usleep);
ROOST_REAL(sleep);
ROOST_REAL_AS(syscall, long(long, long, long, long, long, long, long));
ROOST_REAL_AS(sched_setaffinity, int(pid_t, size_t, const cpu_set_t*));
ROOST_REAL_AS(sched_getaffinity, int(pid_t, size_t, cpu_set_t*));
ROOST_REAL_AS(pthread_setaffinity_np, int(pthread_t, size_t, const cpu_set_t*));
ROOST_REAL_AS(pthread_getaffinity_np, int(pthread_t, size_t, cpu_set_t*));
ROOST_REAL_AS(sysconf, long(int));
ROOST_REAL_AS(prctl, int(int, unsigned long, unsigned long, unsigned long, unsigned long));
ROOST_REAL_AS(setpriority, int(int, id_t, int));
ROOST_REAL(nice);
ROOST_REAL_AS(setfsuid, int(uid_t));
ROOST_REAL_AS(setfsgid, int(gid_t));
ROOST_REAL_AS(personality, int(unsigned long));
ROOST_REAL_AS(unshare, int(int));
ROOST_REAL_AS(setns, int(int, int));
ROOST_REAL_AS(pkey_alloc, int(unsigned, unsigned));
ROOST_REAL_AS(capset, int(void*, const void*));
ROOST_REAL_AS(arch_prctl, int(int, unsigned long));
ROOST_REAL(sched_setscheduler);
ROOST_REAL(sched_setparam);
ROOST_REAL(pthread_setschedparam);
ROOST_REAL(execve);
ROOST_REAL(execv);
ROOST_REAL(execvp);
ROOST_REAL(execvpe);
ROOST_REAL(fexecve);
ROOST_REAL_AS(execveat, int(int, const char*, char* const*, char* const*, int));
ROOST_REAL(posix_spawn);
ROOST_REAL(posix_spawnp);
ROOST_REAL_AS(_exit, void(int));
ROOST_REAL_AS(_Fork, pid_t());
#undef ROOST_REAL
#undef ROOST_REAL_AS
#undef ROOST_REAL_COND
#undef ROOST_REAL_OF
// NOLINTEND(misc-definitions-in-headers)
}  // namespace real
#pragma GCC diagnostic pop

// Marks a function that replaces libc's of the same name.
#define ROOST_EXPORT extern "C" __attribute__((visibility("default")))

}  // namespace roost

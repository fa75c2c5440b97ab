// The few kernel services Roost uses, with types; every function returns -errno on failure.
// All are async-signal-safe and leave errno alone.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>

#include "base/ticks.h"
#include "base/types.h"
#include "os/raw_syscall.h"

namespace roost::os {

// What threads block that are not the program's at the time: all but the signal by which libc's
// setuid() and its like have every thread do the same, and wait until it has (glibc's SIGSETXID).
inline constexpr std::uint64_t kAllSignals = ~(1ull << (33 - 1));
// Nor the one of trapped system calls, which the kernel does not let anybody block and make one.
inline constexpr std::uint64_t kTraps = 1ull << (SIGSYS - 1);
inline constexpr std::uint64_t kAllButTraps = kAllSignals & ~kTraps;

// rt_sigprocmask(2) of the calling thread. `before`: what it blocked, if wanted.
inline void change_signal_mask(int how, std::uint64_t mask, std::uint64_t* before = nullptr) {
  raw_syscall(SYS_rt_sigprocmask, how, arg(&mask), arg(before), sizeof mask);
}

inline constexpr int kSignals = 64;  // from 1 on

// An action as the kernel has it. Its call; 0, or a negative error number.
struct KernelAction {
  std::uintptr_t handler;
  unsigned long flags;
  std::uintptr_t restorer;
  std::uint64_t mask;
};
inline long kernel_action(int signal, const KernelAction* wanted, KernelAction* before) {
  return raw_syscall(SYS_rt_sigaction, signal, arg(wanted), arg(before), sizeof wanted->mask);
}

enum class FutexScope { process, shared };

inline int futex_flags(FutexScope scope) {
  return scope == FutexScope::process ? FUTEX_PRIVATE_FLAG : 0;
}

// Waits until woken while *word == expected. `deadline` is absolute on CLOCK_MONOTONIC, or on
// CLOCK_REALTIME if `realtime`; null waits for ever. 0, -EAGAIN, -EINTR, -ETIMEDOUT (futex(2)).
inline int futex_wait(const void* word, std::uint32_t expected, FutexScope scope,
                      const timespec* deadline = nullptr, bool realtime = false) {
  int operation = FUTEX_WAIT_BITSET | futex_flags(scope) | (realtime ? FUTEX_CLOCK_REALTIME : 0);
  return static_cast<int>(raw_syscall(SYS_futex, arg(word), operation, expected, arg(deadline), 0,
                                      FUTEX_BITSET_MATCH_ANY));
}

// One of the words that futex_wait_any waits on, as the kernel reads it (futex_waitv,
// linux/futex.h).
struct FutexWait {
  std::uint64_t expected;
  const void* word;
  std::uint32_t flags = 0;
  std::uint32_t reserved = 0;

  FutexWait(const void* address, std::uint32_t value, FutexScope scope)
      : expected(value), word(address), flags(2u | static_cast<unsigned>(futex_flags(scope))) {}
};
// Waits until woken on one of the words while each is as expected. Which one it was, -EAGAIN,
// -EINTR, or -ENOSYS (before Linux 5.16).
inline int futex_wait_any(const FutexWait* words, unsigned count) {
  return static_cast<int>(raw_syscall(SYS_futex_waitv, arg(words), count));
}

// Wakes up to `count` waiters of the word; returns how many.
inline int futex_wake(const void* word, int count, FutexScope scope) {
  return static_cast<int>(
      raw_syscall(SYS_futex, arg(word), FUTEX_WAKE | futex_flags(scope), count));
}

inline pid_t gettid() { return static_cast<pid_t>(raw_syscall(SYS_gettid)); }
inline pid_t getpid() { return static_cast<pid_t>(raw_syscall(SYS_getpid)); }
inline pid_t getppid() { return static_cast<pid_t>(raw_syscall(SYS_getppid)); }
inline int yield() { return static_cast<int>(raw_syscall(SYS_sched_yield)); }

// `bytes` of mask for the thread `tid` (0: the caller).
inline int set_affinity(pid_t tid, const void* mask, std::size_t bytes) {
  return static_cast<int>(
      raw_syscall(SYS_sched_setaffinity, tid, static_cast<long>(bytes), arg(mask)));
}
// Returns the number of bytes written.
inline int get_affinity(pid_t tid, void* mask, std::size_t bytes) {
  return static_cast<int>(
      raw_syscall(SYS_sched_getaffinity, tid, static_cast<long>(bytes), arg(mask)));
}

// How the kernel schedules a thread (sched_setattr(2), the first version of the structure).
struct SchedulingAttributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;  // ns; of the usual policies, runtime is the slice
};
// Of the calling thread. 0 or a negative errno.
inline int scheduling_attributes(SchedulingAttributes& attributes) {
  return static_cast<int>(
      raw_syscall(SYS_sched_getattr, 0, arg(&attributes), sizeof attributes, 0));
}
// Asks that the calling thread, and each that descends from it, be given a CPU in slices of so many
// ns, 100,000 at least; its share stays what it is. The kernel lets a thread that wakes and wants a
// short slice go before one that is in a longer (EEVDF, Linux 6.12; earlier ones ignore it). Only
// for threads of the usual policies, and only a request: nobody fails for want of it.
inline void request_slice(Nanoseconds slice) {
  SchedulingAttributes attributes{};
  if (scheduling_attributes(attributes) != 0 ||
      (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH)) {
    return;
  }
  attributes.size = sizeof attributes;
  attributes.runtime = slice;
  raw_syscall(SYS_sched_setattr, 0, arg(&attributes), 0);
}

inline int open(const char* path, int flags, unsigned mode = 0) {
  return static_cast<int>(raw_syscall(SYS_openat, AT_FDCWD, arg(path), flags, mode));
}
inline int close(int fd) { return static_cast<int>(raw_syscall(SYS_close, fd)); }
inline long read(int fd, void* buffer, std::size_t bytes) {
  return raw_syscall(SYS_read, fd, arg(buffer), static_cast<long>(bytes));
}
inline long write(int fd, const void* buffer, std::size_t bytes) {
  return raw_syscall(SYS_write, fd, arg(buffer), static_cast<long>(bytes));
}
// Readable and writable; null if there is none.
inline void* map_memory(std::size_t bytes, int flags, int fd = -1) {
  long at =
      raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, flags, fd, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}
inline void unmap_memory(const void* memory, std::size_t bytes) {
  raw_syscall(SYS_munmap, arg(memory), static_cast<long>(bytes));
}
inline int pidfd_open(pid_t pid) { return static_cast<int>(raw_syscall(434, pid, 0)); }
inline int kill(pid_t pid, int signal) {
  return static_cast<int>(raw_syscall(SYS_kill, pid, signal));
}
inline int tgkill(pid_t pid, pid_t tid, int signal) {
  return static_cast<int>(raw_syscall(SYS_tgkill, pid, tid, signal));
}

inline Nanoseconds to_nanoseconds(const timespec& t) {
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000u + static_cast<Nanoseconds>(t.tv_nsec);
}

// A clock of the system's, through the vDSO (about 25 ns), which reads the processor's counter.
inline timespec clock_time(clockid_t clock) {
  timespec t = {};
  if (counter_is_forbidden()) {
    raw_syscall(SYS_clock_gettime, clock, arg(&t));
  } else {
    clock_gettime(clock, &t);
  }
  return t;
}
inline Nanoseconds clock_ns(clockid_t clock) { return to_nanoseconds(clock_time(clock)); }
inline Nanoseconds now() { return clock_ns(CLOCK_MONOTONIC); }
// Of the calling thread. A system call, and not by the vDSO, whose instruction may be trapped.
inline Nanoseconds thread_cpu_time() {
  timespec t = {};
  raw_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, arg(&t));
  return to_nanoseconds(t);
}

inline timespec to_timespec(Nanoseconds ns) {
  return {static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
}

// In the kernel, and not a cancellation point. A signal handler ends it early.
inline void sleep_for(Nanoseconds ns) {
  timespec time = to_timespec(ns);
  raw_syscall(SYS_nanosleep, arg(&time), 0);
}

// Not as libraries that are preloaded to pretend another user tell it (fakeroot(1)).
inline uid_t effective_user() { return static_cast<uid_t>(raw_syscall(SYS_geteuid)); }
inline int file_status(int fd, struct stat& status) {
  status = {};
  return static_cast<int>(raw_syscall(SYS_fstat, fd, arg(&status)));
}

// Start time of a process in clock ticks since boot (proc(5), stat field 22); with the pid it names
// a process for good. 0 if it is gone. `name`: also the kernel's name of it, empty if it is gone.
inline constexpr std::size_t kProcessNameBytes = 16;
std::uint64_t process_start_time(pid_t pid, char (*name)[kProcessNameBytes] = nullptr);
// That of a process that was forked between two readings of CLOCK_BOOTTIME, in ns, if it follows
// from them, as it mostly does; else 0. In the ticks of proc(5), a hundredth of a second.
std::uint64_t start_time_between(Nanoseconds before, Nanoseconds after);
// What the kernel calls the calling thread.
void own_name(char (&name)[kProcessNameBytes]);

// State letter of a thread (proc(5), stat field 3): 'R', 'S', 'D', 'T', 'Z' ...; 0 if it is gone.
char thread_run_state(pid_t pid, pid_t tid);

// Parent of a process (proc(5), stat field 4); 0 if it is gone.
pid_t parent_of(pid_t pid);

// The nearest process above `pid` that was executed without the environment variable, as a launcher
// is without those of its ranks; 0 if there is none.
pid_t ancestor_without(pid_t pid, const char* variable);

// How long a thread has been kept waiting for a CPU while it could run, and how often it got one
// (proc(5), schedstat). False if that cannot be told.
struct RunDelay {
  Nanoseconds waited;
  std::uint64_t runs;
};
bool run_delay(pid_t pid, pid_t tid, RunDelay& delay);

// For how many ticks of 10 ms a CPU has been busy since the machine started (proc(5), stat); 0 if
// that cannot be told.
std::uint64_t busy_ticks(unsigned cpu);

// Signals pending for the calling thread alone, bit n-1 for signal n (proc(5), status, SigPnd).
std::uint64_t own_pending_signals();

// Whether a thread blocks `signal` (proc(5), status, SigBlk); also if it is gone.
bool signal_blocked(pid_t pid, pid_t tid, int signal);

// Asks the kernel to give a fork's child zeros in place of these whole pages. False if it does not.
inline bool wipe_at_fork(void* pages, std::size_t bytes) {
  return raw_syscall(SYS_madvise, arg(pages), static_cast<long>(bytes), MADV_WIPEONFORK) == 0;
}

// Copies `bytes` of the process's own memory that may not be mapped. Whether all were there.
inline bool read_own_memory(std::uint64_t address, void* to, std::size_t bytes) {
  struct {
    void* base;
    std::size_t size;
  } local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return raw_syscall(SYS_process_vm_readv, getpid(), arg(&local), 1, arg(&remote), 1, 0) ==
         static_cast<long>(bytes);
}

// How far the process's own memory can be read from `from` on, at most to `to`: a system call for
// each 64 KB.
std::uint64_t end_of_readable(std::uint64_t from, std::uint64_t to);

// Whether the word at an address that divides by four has that value; false, too, if it cannot be
// read. The kernel looks (0.37 us; to have it copied by process_vm_readv takes 1.1).
inline bool has_value(std::uint64_t address, std::uint32_t value) {
  std::uint32_t nobody = 0;  // waits here, and nobody is woken or sent here
  return raw_syscall(SYS_futex, static_cast<long>(address), FUTEX_CMP_REQUEUE_PRIVATE, 0, 0,
                     arg(&nobody), value) == 0;
}

// How many threads of the process the kernel lists, by the links of /proc/self/task: itself, its
// parent, and one each. 0 if /proc cannot say it.
unsigned listed_threads();

// Inode of the calling process's PID namespace (pid_namespaces(7)); 0 if /proc cannot say it.
std::uint64_t pid_namespace();
inline constexpr std::uint64_t kFirstPidNamespace = 0xeffffffc;  // PROC_PID_INIT_INO, proc_ns.h

// Whether /proc names processes as the caller's PID namespace does; also if there is no /proc.
bool proc_is_of_own_namespace();

// Whether `pid` with that start time (0: not known) is still there and not a zombie; true if that
// cannot be told.
bool process_alive(pid_t pid, std::uint64_t start_time);

}  // namespace roost::os

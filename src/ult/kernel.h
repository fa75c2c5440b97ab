// The few kernel services the OpenMP library uses, through libc.
//
// Not through os/sys.h, whose system calls are instructions of their own: under `roost run` an
// object that has such is watched by trap (preload/trap.h), and every one of its calls costs
// microseconds. Libc's entry points are what Roost sees. errno stays what it was.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "base/text.h"
#include "base/types.h"

namespace roost::ult::kernel {

class KeepErrno {
 public:
  KeepErrno() : kept_(errno) {}
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int kept_;
};

// Waits while *word is `expected`; returns for any reason.
inline void futex_wait(const void* word, std::uint32_t expected) {
  KeepErrno keep;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
inline void futex_wake_one(const void* word) {
  KeepErrno keep;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
inline void yield() { syscall(SYS_sched_yield); }

// Signals are a bit each, from signal 1 on.
inline void change_signal_mask(int how, std::uint64_t mask, std::uint64_t* before = nullptr) {
  KeepErrno keep;
  syscall(SYS_rt_sigprocmask, how, &mask, before, sizeof mask);
}

// Keeps the program's signals from the calling thread while it lives, and from threads that are
// made meanwhile; but not the one by which libc changes the credentials of all threads (nptl(7)),
// nor SIGSYS: a malloc's inline system call is trapped by it under Roost.
class NoSignals {
 public:
  NoSignals() {
    constexpr int kSetsCredentials = 33;
    constexpr std::uint64_t kLeft =
        std::uint64_t{1} << (kSetsCredentials - 1) | std::uint64_t{1} << (SIGSYS - 1);
    change_signal_mask(SIG_BLOCK, ~kLeft, &before_);
  }
  ~NoSignals() { change_signal_mask(SIG_SETMASK, before_); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

  std::uint64_t blocked_before() const { return before_; }

 private:
  std::uint64_t before_ = 0;
};

// Monotonic time in ns; about 25 ns.
inline Nanoseconds now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + static_cast<Nanoseconds>(t.tv_nsec);
}

inline std::int32_t gettid() { return static_cast<std::int32_t>(syscall(SYS_gettid)); }

// CPU time that a thread of this process (0: the calling one) has used, in ns; 0 if there is none
// of that number.
inline Nanoseconds cpu_time(std::int32_t tid) {
  KeepErrno keep;
  constexpr int kPerThreadScheduled = 6;  // linux/posix-timers.h: CPUCLOCK_SCHED, per thread
  timespec t;
  auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | kPerThreadScheduled);
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + static_cast<Nanoseconds>(t.tv_nsec);
}

// A file of a thread of this process, into `text`; its length, 0 if there is none. For threads that
// may open files.
inline long read_of_thread(std::int32_t tid, const char* file_name, char* text, std::size_t size) {
  KeepErrno keep;
  Text<64> name("/proc/self/task/");
  name << static_cast<std::uint32_t>(tid) << "/" << file_name;
  int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  long length = read(file, text, size);
  close(file);
  return length > 0 ? length : 0;
}

// Whether a thread of this process waits in the kernel rather than running or being about to.
inline bool is_asleep(std::int32_t tid) {
  char text[128];
  long length = read_of_thread(tid, "stat", text, sizeof text);
  // "TID (NAME) STATE ...", where a name may contain anything.
  for (long i = length - 3; i >= 0; --i)
    if (text[i] == ')') return text[i + 1] == ' ' && text[i + 2] == 'S';
  return false;
}

// The number of the system call in which a thread of this process waits, -1 if in none.
inline long call_asleep_in(std::int32_t tid) {
  char text[160];
  long length = read_of_thread(tid, "syscall", text, sizeof text);
  long number = -1;  // "running", or the number and its arguments
  for (long i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i)
    number = (number < 0 ? 0 : number * 10) + (text[i] - '0');
  return number;
}

// Copies memory of this process that may not be there. Whether all was.
inline bool read_own_memory(std::uint64_t address, void* to, std::size_t bytes) {
  KeepErrno keep;
  iovec local{to, bytes};
  iovec remote{reinterpret_cast<void*>(address), bytes};
  return syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL) ==
         static_cast<long>(bytes);
}

inline void write_error(const char* text, std::size_t length) {
  KeepErrno keep;
  if (write(2, text, length) < 0) return;  // nowhere to say so
}

}  // namespace roost::ult::kernel

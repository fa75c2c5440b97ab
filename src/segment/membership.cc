// How processes join, make, leave and remove the segment of an instance: sched/PROTOCOL.md, "Coming
// and going".
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "os/sys.h"
#include "segment/segment.h"

namespace roost {
namespace {

// For how long anybody waits for a file's lock. Its holder may be stopped.
constexpr Nanoseconds kLongestLock = 1'000'000'000;
constexpr Nanoseconds kLockPoll = 1'000'000;

// What join() and make() found: the file has to be looked at again. No descriptor, and no error.
constexpr int kAgain = -20000;

// The file of a segment, locked against who else would make or remove it. The kernel drops the lock
// of one who dies.
class LockedFile {
 public:
  // Makes an empty file if there is none and `create`. Does not wait: -EWOULDBLOCK.
  LockedFile(const char* path, bool create) {
    do {
      fd_ = open(path, create);
    } while (fd_ == kAgain);
  }
  // By name: a mapping keeps the open file, and with it the lock, alive.
  ~LockedFile() {
    if (fd_ < 0) return;
    os::raw_syscall(SYS_flock, fd_, LOCK_UN);
    os::close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int error() const { return fd_ < 0 ? fd_ : 0; }
  int fd() const { return fd_; }
  const struct stat& status() const { return status_; }

 private:
  // kAgain if the file was removed before it was locked.
  int open(const char* path, bool create) {
    int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = create ? os::open(path, flags | O_CREAT | O_EXCL, 0600) : -EEXIST;
    if (fd >= 0) os::raw_syscall(SYS_fchmod, fd, 0600);  // whatever the umask is
    if (fd == -EEXIST) {
      fd = os::open(path, flags);
      if (fd == -ENOENT && create) return kAgain;
    }
    if (fd < 0) return fd;
    int error = static_cast<int>(os::raw_syscall(SYS_flock, fd, LOCK_EX | LOCK_NB));
    if (error == 0) error = os::file_status(fd, status_);
    if (error == 0 && status_.st_nlink > 0) return fd;
    os::close(fd);
    if (error) return error;
    return create ? kAgain : -ENOENT;
  }

  int fd_;
  struct stat status_ = {};
};

void unlink_file(const char* path) { os::raw_syscall(SYS_unlinkat, AT_FDCWD, os::arg(path), 0); }

// The start of the calling process as /proc has it, which costs as much as all else together, and
// what the kernel calls it.
std::uint64_t own_start_time(Segment& segment, pid_t pid, std::uint64_t known,
                             char (&command)[os::kProcessNameBytes]) {
  auto& start_times = segment.header->start_times;
  if (known && start_times.load(std::memory_order_relaxed) == StartTimes::agree) {
    os::own_name(command);
    return known;
  }
  std::uint64_t start = os::process_start_time(pid, &command);
  auto unknown = StartTimes::unknown;
  if (known && start) {
    start_times.compare_exchange_strong(unknown,
                                        start == known ? StartTimes::agree : StartTimes::differ,
                                        std::memory_order_relaxed);
  }
  return start;
}

// Takes a slot for the calling process. A slot of the same process under an earlier program image
// (before exec) is found by pid and start time and cleaned by the caller of segment_attach.
int take_process_slot(Segment& segment, std::uint64_t start_time, ProcessIndex& process) {
  pid_t pid = os::getpid();
  char command[os::kProcessNameBytes];
  static_assert(sizeof command == sizeof ProcessSlot<RealWorld>::command);
  std::uint64_t start = own_start_time(segment, pid, start_time, command);
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    ProcessSlot<RealWorld>& slot = segment.processes[i];
    std::uint32_t word = slot.state.load(std::memory_order_acquire);
    if (process_state(word) != ProcessState::free) continue;
    std::uint32_t taken = with_process_state(word + kNextTenant, ProcessState::joining);
    if (!slot.state.compare_exchange_strong(word, taken, std::memory_order_acq_rel)) continue;
    slot.pid = pid;
    slot.start_time = start;
    slot.keeper_tid.store(0, std::memory_order_relaxed);
    slot.exec_pending.store(0, std::memory_order_relaxed);
    slot.callers.store(0, std::memory_order_relaxed);
    slot.rank.store(0, std::memory_order_relaxed);
    slot.at_large_ns.store(0, std::memory_order_relaxed);
    slot.threads.store(0, std::memory_order_relaxed);
    slot.dead_ticks = 0;
    for (auto& counter : slot.retired) counter.store(0, std::memory_order_relaxed);
    memcpy(slot.command, command, sizeof command);
    slot.state.store(with_process_state(taken, ProcessState::live), std::memory_order_release);
    process = i;
    return 0;
  }
  return kSegmentNoProcessSlot;
}

void leave_slot(ProcessSlot<RealWorld>& slot, ProcessState left) {
  slot.state.store(with_process_state(slot.state.load(std::memory_order_relaxed), left),
                   std::memory_order_release);
}

// Whether the caller's parent has a slot of which `counts` is true, one of the first. It lives, and
// need not be asked for, which takes some 30 us. By who has been in the instance, or was forked
// from there: else the slot may be a dead one's that had the parent's number.
template <class Counts>
bool parent_is_there(const Segment& segment, Counts&& counts) {
  constexpr ProcessIndex kFirst = 64;
  pid_t parent = os::getppid();
  for (ProcessIndex i = 0; i < kFirst; ++i) {
    const ProcessSlot<RealWorld>& slot = segment.processes[i];
    if (counts(process_state(slot.state.load(std::memory_order_acquire))) && slot.pid == parent)
      return true;
  }
  return false;
}

// Whether a living process has a slot of which `counts` is true.
template <class Counts>
bool anybody_lives(const Segment& segment, Counts&& counts) {
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot<RealWorld>& slot = segment.processes[i];
    ProcessState state = process_state(slot.state.load(std::memory_order_acquire));
    if (counts(state) && os::process_alive(slot.pid, slot.start_time)) return true;
  }
  return false;
}

// Whether a process is still to detach. One that is exiting is past that: when several end
// together, the last of them removes the file.
bool anybody_stays(const Segment& segment) {
  auto stays = [](ProcessState state) { return state == ProcessState::live; };
  return parent_is_there(segment, stays) || anybody_lives(segment, stays);
}

// By who holds the file's lock: removes it unless somebody uses it. [seal-1]
bool remove_unless(bool (*used)(const Segment&), Segment& segment, const char* path) {
  segment.header->sealed.store(1, std::memory_order_relaxed);
  RealWorld::fence();
  bool keep = used(segment);
  if (keep) {
    segment.header->sealed.store(0, std::memory_order_release);
  } else {
    unlink_file(path);
  }
  return !keep;
}

// Takes a slot in a segment that somebody alive uses; kAgain if there is none.
int join(Segment& segment, const char* path, const Known& known, ProcessIndex& process) {
  int error = segment_open(segment, path, true, known.pid_namespace);
  if (error == -ENOENT || error == kSegmentUnfinished) return kAgain;
  if (error) return error;
  const auto& sealed = segment.header->sealed;
  auto in_use = [&] {
    return (known.is_forked && parent_is_there(segment, is_taken)) || segment_in_use(segment);
  };
  if (sealed.load(std::memory_order_acquire) || !in_use()) {
    error = kAgain;
  } else {
    error = take_process_slot(segment, known.start_time, process);
  }
  if (error == 0) {
    RealWorld::fence();  // [seal-1]
    if (sealed.load(std::memory_order_acquire)) {
      leave_slot(segment.processes[process], ProcessState::free);
      error = kAgain;
    }
  }
  if (error) segment_unmap(segment);
  return error;
}

// Makes the segment and takes its first slot; kAgain if that is not to be done, or not yet.
int make(Segment& segment, const char* path, SegmentConfig& config, const Known& known,
         ProcessIndex& process) {
  LockedFile file(path, true);
  if (int error = file.error()) return error;
  if (file.status().st_size > 0) {
    int error = segment_open(segment, path, true, known.pid_namespace);
    if (error == 0) {
      remove_unless(segment_in_use, segment, path);
      segment_unmap(segment);
    } else if (error == kSegmentUnfinished) {
      unlink_file(path);  // it can serve nobody, and nobody has joined it
    } else {
      return error;
    }
    return kAgain;
  }
  int error = segment_create(file.fd(), config, segment);
  if (error == 0) error = take_process_slot(segment, known.start_time, process);
  if (error) {
    unlink_file(path);
    segment_unmap(segment);
  }
  return error;
}

}  // namespace

int segment_attach(Segment& segment, SegmentConfig& config, ProcessIndex& process,
                   const Known& before) {
  // Who is alive would be asked of others' processes.
  if (!os::proc_is_of_own_namespace()) return kSegmentOtherProc;
  Known known = before;
  if (!known.pid_namespace) known.pid_namespace = os::pid_namespace();
  if (!known.pid_namespace) return kSegmentNoProc;
  char path[kSegmentPathBytes];
  int named = segment_path(path, os::effective_user(), config.instance, known.pid_namespace);
  if (named < 0) return named;
  Nanoseconds end = os::now() + kLongestLock;
  for (;;) {
    int error = join(segment, path, known, process);
    if (error == kAgain) error = make(segment, path, config, known, process);
    if (error == -EWOULDBLOCK) {
      if (os::now() >= end) return kSegmentLocked;
      os::sleep_for(kLockPoll);
    } else if (error != kAgain) {
      return error;
    }
  }
}

void segment_detach(Segment& segment, ProcessIndex process, ProcessState left) {
  char path[kSegmentPathBytes];
  segment_path(path, segment.header->uid, segment.header->instance, segment.header->pid_namespace);
  ProcessSlot<RealWorld>& slot = segment.processes[process];
  for (int i = 0; left == ProcessState::free && i < kCounters; ++i) {
    segment.header->retired[i].fetch_add(slot.retired[i].load(std::memory_order_relaxed));
  }
  leave_slot(slot, left);
  RealWorld::fence();  // [leave-1]
  for (Nanoseconds end = os::now() + kLongestLock; !anybody_stays(segment);) {
    LockedFile file(path, false);
    if (file.error() == -EWOULDBLOCK && os::now() < end) {
      os::sleep_for(kLockPoll);
      continue;
    }
    // Another one that left may have removed ours, and a third made its own.
    bool ours = file.error() == 0 && file.status().st_ino == segment.file;
    if (ours) remove_unless(anybody_stays, segment, path);
    return;
  }
}

bool segment_in_use(const Segment& segment) { return anybody_lives(segment, is_taken); }

int segment_remove_if_stale(const char* path) {
  LockedFile file(path, false);
  if (file.error() == -EWOULDBLOCK) return kSegmentLocked;
  if (int error = file.error()) return error;
  Segment segment;
  // One that we cannot read (other version, damaged) is in use only if somebody has it mapped; its
  // own version's `roost clean` can tell, so it is left when in doubt.
  int result = segment_open(segment, path, true);
  if (result == 0) {
    result = remove_unless(segment_in_use, segment, path) ? 1 : 0;
  } else if (result == kSegmentUnfinished) {
    unlink_file(path);
    result = 1;
  } else if (result == kSegmentOtherNamespace) {
    // Its processes cannot be asked for. Nobody joins it but beside one who has it mapped.
    result = segment_is_mapped(file.fd()) ? 0 : 1;
    if (result) unlink_file(path);
  }
  segment_unmap(segment);
  return result;
}

}  // namespace roost

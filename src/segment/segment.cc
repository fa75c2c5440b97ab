// Creates, checks, attaches and removes the shared segment.
#include "segment/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "os/sys.h"
#include "segment/layout.h"
#include "segment/thread_state.h"

namespace roost {
namespace {

// Opens the file and locks it against other creators, attachers and removers. Retries when the file
// was removed between the two steps. Returns the descriptor or -errno.
int open_locked(const char* path, bool create) {
  for (;;) {
    int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    int fd = create ? os::open(path, flags | O_CREAT | O_EXCL, 0600) : -EEXIST;
    if (fd >= 0) os::raw_syscall(SYS_fchmod, fd, 0600);  // whatever the umask is
    if (fd == -EEXIST) {
      fd = os::open(path, flags);
      if (fd == -ENOENT && create) continue;
    }
    if (fd < 0) return fd;
    long locked;
    do {
      locked = os::raw_syscall(SYS_flock, fd, LOCK_EX);
    } while (locked == -EINTR);
    struct stat status;
    if (locked < 0 || fstat(fd, &status) < 0) {
      int error = locked < 0 ? static_cast<int>(locked) : -errno;
      os::close(fd);
      return error;
    }
    if (status.st_nlink > 0) return fd;
    os::close(fd);
    if (!create) return -ENOENT;
  }
}

// The lock must be dropped by name: a mapping keeps the open file, and with it the lock, alive.
void unlock_and_close(int fd) {
  os::raw_syscall(SYS_flock, fd, LOCK_UN);
  os::close(fd);
}

int check_file(int fd, std::uint64_t& bytes) {
  struct stat status;
  if (fstat(fd, &status) < 0) return -errno;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return kSegmentWrongOwner;
  if ((status.st_mode & 07777) != 0600) return kSegmentWrongMode;
  bytes = static_cast<std::uint64_t>(status.st_size);
  return 0;
}

std::uint64_t pid_namespace() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

int map(int fd, std::uint64_t bytes, bool writable, Segment& segment) {
  void* base =
      mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return -errno;
  segment.header = static_cast<SegmentHeader*>(base);
  segment.bytes = bytes;
  return 0;
}

void resolve(Segment& segment) {
  char* base = reinterpret_cast<char*>(segment.header);
  const SegmentHeader& h = *segment.header;
  segment.cores = reinterpret_cast<CoreSlot<RealWorld>*>(base + h.cores_offset);
  segment.core_info = reinterpret_cast<CoreInfo*>(base + h.core_info_offset);
  segment.threads = reinterpret_cast<ThreadRecord<RealWorld>*>(base + h.threads_offset);
  segment.processes = reinterpret_cast<ProcessSlot<RealWorld>*>(base + h.processes_offset);
  segment.fifos = reinterpret_cast<Fifo*>(base + h.fifos_offset);
  segment.thread_bits = reinterpret_cast<std::atomic<std::uint64_t>*>(base + h.thread_bits_offset);
}

bool terminated(const char* text, std::size_t capacity) {
  return memchr(text, 0, capacity) != nullptr;
}

// A peer may have damaged the header: everything used for addressing is checked against what we
// would have computed ourselves.
int check_header(const Segment& segment) {
  const SegmentHeader& h = *segment.header;
  // The magic number is written last. A creator holds the file's lock meanwhile.
  if (h.magic == 0) return kSegmentUnfinished;
  if (h.magic != kMagic) return kSegmentBadMagic;
  if (h.abi_version != kAbiVersion || h.layout_hash != layout_hash()) return kSegmentOtherVersion;
  if (h.n_cores == 0 || h.n_cores > kMaxMaskWords * 64 || h.n_processes != kMaxProcesses ||
      h.n_threads == 0 || h.n_threads > (1u << 20) || h.pin_mode > PinMode::none) {
    return kSegmentDamaged;
  }
  SegmentLayout layout = segment_layout(h.n_cores, h.n_threads);
  if (h.header_bytes != sizeof(SegmentHeader) || h.total_bytes != layout.total ||
      segment.bytes < layout.total || h.cores_offset != layout.cores ||
      h.core_info_offset != layout.core_info || h.threads_offset != layout.threads ||
      h.processes_offset != layout.processes || h.fifos_offset != layout.fifos ||
      h.thread_bits_offset != layout.thread_bits || !terminated(h.instance, sizeof h.instance) ||
      !terminated(h.policy, sizeof h.policy) || !terminated(h.policy_path, sizeof h.policy_path)) {
    return kSegmentDamaged;
  }
  if (h.pid_namespace != pid_namespace()) return kSegmentOtherNamespace;
  return 0;
}

void copy_name(char* to, std::size_t capacity, const char* from) {
  std::size_t length = strnlen(from, capacity - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

int initialise(int fd, SegmentConfig& config, Segment& segment) {
  if (config.choose_cores) config.choose_cores(config);
  std::uint32_t n_threads = config.n_threads ? config.n_threads : kDefaultThreads;
  SegmentLayout layout = segment_layout(config.n_cores, n_threads);
  // A file that is too large for the process (ulimit -f) is a signal, not only an error.
  rlimit largest;
  if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < layout.total) return -EFBIG;
  // Truncating first leaves only zeroes, also over the remains of a dead instance.
  if (ftruncate(fd, 0) < 0 || ftruncate(fd, static_cast<off_t>(layout.total)) < 0) return -errno;
  if (int error = map(fd, layout.total, true, segment)) return error;
  SegmentHeader& h = *segment.header;
  h.abi_version = kAbiVersion;
  h.header_bytes = sizeof(SegmentHeader);
  h.layout_hash = layout_hash();
  h.total_bytes = layout.total;
  h.pid_namespace = pid_namespace();
  h.uid = geteuid();
  h.n_cores = config.n_cores;
  h.n_processes = kMaxProcesses;
  h.n_threads = n_threads;
  h.pin_mode = config.pin_mode;
  copy_name(h.instance, sizeof h.instance, config.instance);
  copy_name(h.policy, sizeof h.policy, config.policy);
  h.policy_layout = config.policy_layout;
  h.policy_hash = config.policy_hash;
  copy_name(h.policy_path, sizeof h.policy_path, config.policy_path ? config.policy_path : "");
  memcpy(h.parameters, config.parameters, sizeof h.parameters);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  h.created_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                 static_cast<std::uint64_t>(now.tv_nsec);
  h.cores_offset = layout.cores;
  h.core_info_offset = layout.core_info;
  h.threads_offset = layout.threads;
  h.processes_offset = layout.processes;
  h.fifos_offset = layout.fifos;
  h.thread_bits_offset = layout.thread_bits;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&h.leader, &attributes);
  pthread_mutexattr_destroy(&attributes);
  resolve(segment);
  memcpy(segment.core_info, config.cores, config.n_cores * sizeof(CoreInfo));
  for (CoreIndex core = 0; core < config.n_cores; ++core) {
    h.idle[core / 64].bits.fetch_or(1ull << (core % 64), std::memory_order_relaxed);
  }
  h.magic = kMagic;
  return 0;
}

// Takes a slot for the calling process. A slot of the same process under an earlier program image
// (before exec) is found by pid and start time and cleaned by the caller of segment_attach.
int take_process_slot(Segment& segment, ProcessIndex& process) {
  pid_t pid = os::getpid();
  std::uint64_t start = os::process_start_time(pid);
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    ProcessSlot<RealWorld>& slot = segment.processes[i];
    std::uint32_t word = slot.state.load(std::memory_order_acquire);
    if (process_state(word) != ProcessState::free) continue;
    slot.pid = pid;
    slot.start_time = start;
    slot.keeper_tid.store(0, std::memory_order_relaxed);
    slot.exec_pending.store(0, std::memory_order_relaxed);
    slot.callers.store(0, std::memory_order_relaxed);
    slot.threads.store(0, std::memory_order_relaxed);
    slot.dead_ticks = 0;
    for (auto& counter : slot.retired) counter.store(0, std::memory_order_relaxed);
    memset(slot.command, 0, sizeof slot.command);
    int fd = os::open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      long length = os::read(fd, slot.command, sizeof slot.command - 1);
      if (length > 0 && slot.command[length - 1] == '\n') slot.command[length - 1] = 0;
      os::close(fd);
    }
    slot.state.store(with_process_state(word + kNextTenant, ProcessState::live),
                     std::memory_order_release);
    process = i;
    return 0;
  }
  return kSegmentNoProcessSlot;
}

}  // namespace

int segment_path(char (&path)[kSegmentPathBytes], unsigned uid, const char* instance) {
  std::size_t length = strnlen(instance, kInstanceNameBytes);
  if (length == 0 || length >= kInstanceNameBytes) return kSegmentBadName;
  for (std::size_t i = 0; i < length; ++i) {
    char c = instance[i];
    bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '.' || c == '_' || c == '-';
    if (!good) return kSegmentBadName;
  }
  Text<kSegmentPathBytes> text("/dev/shm/roost-");
  text << uid << '-' << instance;
  memcpy(path, text.c_str(), text.length() + 1);
  return 0;
}

namespace {

void unlink_file(const char* path) { os::raw_syscall(SYS_unlinkat, AT_FDCWD, os::arg(path), 0); }

// Maps what the locked file holds, or makes it anew where it is empty or nobody's any more.
// `created` tells which was tried.
int join_or_create(int fd, SegmentConfig& config, Segment& segment, bool& created) {
  std::uint64_t bytes = 0;
  if (int error = check_file(fd, bytes)) return error;
  if (bytes > 0) {
    if (bytes < sizeof(SegmentHeader)) return kSegmentDamaged;
    if (int error = map(fd, bytes, true, segment)) return error;
    if (int error = check_header(segment)) return error;
    resolve(segment);
    if (segment_in_use(segment)) return 0;
    segment_unmap(segment);
  }
  created = true;
  return initialise(fd, config, segment);
}

}  // namespace

int segment_attach(Segment& segment, SegmentConfig& config, ProcessIndex& process) {
  char path[kSegmentPathBytes];
  if (int error = segment_path(path, geteuid(), config.instance)) return error;
  for (;;) {
    int fd = open_locked(path, true);
    if (fd < 0) return fd;
    bool created = false;
    int error = join_or_create(fd, config, segment, created);
    // Such a file can serve nobody, and nobody has joined it: another one takes its place.
    bool again = error == kSegmentUnfinished;
    if (again || (created && error != 0)) unlink_file(path);
    if (error == 0) error = take_process_slot(segment, process);
    if (error != 0) segment_unmap(segment);
    unlock_and_close(fd);
    if (!again) return error;
  }
}

int segment_open(Segment& segment, const char* path, bool writable) {
  int fd = os::open(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return fd;
  std::uint64_t bytes = 0;
  int error = check_file(fd, bytes);
  if (error == 0 && bytes < sizeof(SegmentHeader)) error = kSegmentDamaged;
  if (error == 0) error = map(fd, bytes, writable, segment);
  if (error == 0) {
    error = check_header(segment);
    if (error == 0) {
      resolve(segment);
    } else {
      segment_unmap(segment);
    }
  }
  os::close(fd);
  return error;
}

bool segment_in_use(const Segment& segment, ProcessIndex except) {
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    if (i == except) continue;
    const ProcessSlot<RealWorld>& slot = segment.processes[i];
    ProcessState state = process_state(slot.state.load(std::memory_order_acquire));
    if (state != ProcessState::free && os::process_alive(slot.pid, slot.start_time)) return true;
  }
  return false;
}

// Whether a process other than `except` is still to detach. One that is exiting is past that: when
// several end together, the last of them removes the file.
static bool others_stay(const Segment& segment, ProcessIndex except) {
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot<RealWorld>& slot = segment.processes[i];
    if (i != except &&
        process_state(slot.state.load(std::memory_order_acquire)) == ProcessState::live &&
        os::process_alive(slot.pid, slot.start_time)) {
      return true;
    }
  }
  return false;
}

void segment_detach(Segment& segment, ProcessIndex process, ProcessState left) {
  char path[kSegmentPathBytes];
  segment_path(path, segment.header->uid, segment.header->instance);
  int fd = open_locked(path, false);
  ProcessSlot<RealWorld>& slot = segment.processes[process];
  for (int i = 0; left == ProcessState::free && i < kCounters; ++i) {
    segment.header->retired[i].fetch_add(slot.retired[i].load(std::memory_order_relaxed));
  }
  slot.state.store(with_process_state(slot.state.load(std::memory_order_relaxed), left),
                   std::memory_order_release);
  if (fd < 0) return;
  if (!others_stay(segment, process)) unlink_file(path);
  unlock_and_close(fd);
}

void segment_unmap(Segment& segment) {
  if (segment.header) munmap(segment.header, segment.bytes);
  segment = Segment{};
}

int segment_remove_if_stale(const char* path) {
  int fd = open_locked(path, false);
  if (fd < 0) return fd;
  std::uint64_t bytes = 0;
  Segment segment;
  int result = check_file(fd, bytes);
  if (result == 0 && bytes >= sizeof(SegmentHeader) && map(fd, bytes, false, segment) == 0) {
    // A segment we cannot read (other version, damaged) is in use only if somebody has it mapped;
    // its own version's `roost clean` can tell, so leave it when in doubt.
    result = check_header(segment);
    if (result == kSegmentUnfinished) {
      result = 1;
    } else if (result == 0) {
      resolve(segment);
      if (!segment_in_use(segment)) result = 1;
    }
    segment_unmap(segment);
  } else if (result == 0) {
    result = 1;  // the creator died before it wrote anything
  }
  if (result == 1) unlink_file(path);
  unlock_and_close(fd);
  return result;
}

ThreadIndex segment_take_thread(Segment& segment, ProcessIndex process) {
  SegmentHeader& h = *segment.header;
  std::uint32_t words = (h.n_threads + 63) / 64;
  std::uint32_t start = h.thread_hint.load(std::memory_order_relaxed) % words;
  for (std::uint32_t step = 0; step < words; ++step) {
    std::uint32_t word = (start + step) % words;
    std::uint64_t used = segment.thread_bits[word].load(std::memory_order_relaxed);
    while (~used) {
      unsigned bit = static_cast<unsigned>(__builtin_ctzll(~used));
      ThreadIndex index = word * 64 + bit;
      if (index >= h.n_threads) break;
      if (!segment.thread_bits[word].compare_exchange_strong(used, used | 1ull << bit,
                                                             std::memory_order_acq_rel)) {
        continue;
      }
      h.thread_hint.store(word, std::memory_order_relaxed);
      ThreadRecord<RealWorld>& record = segment.threads[index];
      record.generation.fetch_add(1, std::memory_order_relaxed);
      record.tid.store(0, std::memory_order_relaxed);
      record.next = kNoThread;
      record.process = process;
      record.last_core = 0;
      record.queued_on = kNoCore;
      record.pinned_to = kNoCore;
      record.ready_ns = 0;
      record.counters = {};
      record.hand_permit.store(0, std::memory_order_relaxed);
      record.nudged.store(0, std::memory_order_relaxed);
      memset(record.policy_words, 0, sizeof record.policy_words);
      record.wait_words = 0;
      record.state.store(static_cast<std::uint32_t>(State::external), std::memory_order_release);
      segment.processes[process].threads.fetch_add(1, std::memory_order_relaxed);
      return index;
    }
  }
  return kNoThread;
}

void segment_free_thread(Segment& segment, ThreadIndex thread) {
  ThreadRecord<RealWorld>& record = segment.threads[thread];
  ProcessSlot<RealWorld>& slot = segment.processes[record.process];
  for (int i = 0; i < kCounters; ++i)
    slot.retired[i].fetch_add(record.counters.*kCounterList[i].value, std::memory_order_relaxed);
  slot.threads.fetch_sub(1, std::memory_order_relaxed);
  record.state.store(static_cast<std::uint32_t>(State::free), std::memory_order_release);
  record.generation.fetch_add(1, std::memory_order_relaxed);
  segment.thread_bits[thread / 64].fetch_and(~(1ull << (thread % 64)), std::memory_order_acq_rel);
}

const char* segment_error(int error) {
  switch (error) {
    case kSegmentWrongOwner:
      return "the segment belongs to another user or is no regular file";
    case kSegmentWrongMode:
      return "the segment's mode is not 0600, so others may have written to it";
    case kSegmentBadMagic:
      return "the file is no Roost segment";
    case kSegmentUnfinished:
      return "the segment's creator did not finish it";
    case kSegmentOtherVersion:
      return "the segment was made by another version of Roost; end its programs or use another "
             "--instance";
    case kSegmentDamaged:
      return "the segment is damaged; end its programs and run `roost clean`";
    case kSegmentOtherNamespace:
      return "the instance belongs to another container (PID namespace); use another --instance";
    case kSegmentPolicyMismatch:
      return "the instance runs a policy this version of Roost does not have";
    case kSegmentNoProcessSlot:
      return "the instance already has as many processes as it can hold (512)";
    case kSegmentNoThreadRecord:
      return "the instance has no free thread record";
    case kSegmentBadName:
      return "an instance name has 1 to 63 letters, digits, '.', '_' or '-'";
    default:
      return strerror(-error);
  }
}

}  // namespace roost

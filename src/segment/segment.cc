// Creates, checks and maps the shared segment, and gives out its thread records.
#include "segment/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

int check_file(int fd, struct stat& status) {
  if (int error = os::file_status(fd, status)) return error;
  if (!S_ISREG(status.st_mode) || status.st_uid != os::effective_user()) return kSegmentWrongOwner;
  if ((status.st_mode & 07777) != 0600) return kSegmentWrongMode;
  return 0;
}

// The lock of who has a segment mapped (fcntl(2), open file description locks): shared, on the
// first byte, for as long as the mapping lives, since that keeps the open file.
constexpr struct flock lock_of_mapping(short type) {
  return {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1, .l_pid = 0};
}

int map(int fd, const struct stat& status, bool writable, Segment& segment) {
  struct flock lock = lock_of_mapping(F_RDLCK);
  if (writable) os::raw_syscall(SYS_fcntl, fd, F_OFD_SETLK, os::arg(&lock));
  auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0) return -EINVAL;  // as mmap(2) says
  void* base =
      mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return -errno;
  segment.header = static_cast<SegmentHeader*>(base);
  segment.bytes = bytes;
  segment.file = status.st_ino;
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
int check_header(const Segment& segment, std::uint64_t pid_namespace) {
  const SegmentHeader& h = *segment.header;
  std::uint64_t magic = __atomic_load_n(&h.magic, __ATOMIC_ACQUIRE);  // written last
  if (magic == 0) return kSegmentUnfinished;
  if (magic != kMagic) return kSegmentBadMagic;
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
  if (h.pid_namespace != pid_namespace) return kSegmentOtherNamespace;
  return 0;
}

// A page that the file system cannot supply at its first touch is SIGBUS. Of an instance for very
// many threads, of whose records the last will hardly be used, the beginning is reserved.
int reserve(int fd, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = 16u << 20;
  auto length = static_cast<off_t>(bytes < kMost ? bytes : kMost);
  int result;
  do {
    result = fallocate(fd, 0, 0, length);
  } while (result < 0 && errno == EINTR);
  return result < 0 && (errno == ENOSPC || errno == EDQUOT) ? -errno : 0;
}

void copy_name(char* to, std::size_t capacity, const char* from) {
  std::size_t length = strnlen(from, capacity - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

}  // namespace

int segment_create(int fd, SegmentConfig& config, Segment& segment) {
  if (config.choose_cores) config.choose_cores(config);
  std::uint32_t n_threads = config.n_threads ? config.n_threads : kDefaultThreads;
  SegmentLayout layout = segment_layout(config.n_cores, n_threads);
  // A file that is too large for the process (ulimit -f) is a signal, not only an error.
  rlimit largest;
  if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < layout.total) return -EFBIG;
  struct stat status;
  if (ftruncate(fd, static_cast<off_t>(layout.total)) < 0) return -errno;
  if (int error = os::file_status(fd, status)) return error;
  if (int error = reserve(fd, layout.total)) return error;
  if (int error = map(fd, status, true, segment)) return error;
  SegmentHeader& h = *segment.header;
  h.abi_version = kAbiVersion;
  h.header_bytes = sizeof(SegmentHeader);
  h.layout_hash = layout_hash();
  h.total_bytes = layout.total;
  h.pid_namespace = os::pid_namespace();
  h.uid = os::effective_user();
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
  h.created_ns = os::clock_ns(CLOCK_REALTIME);
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
  __atomic_store_n(&h.magic, kMagic, __ATOMIC_RELEASE);
  return 0;
}

bool segment_is_mapped(int fd) {
  struct flock lock = lock_of_mapping(F_WRLCK);
  return os::raw_syscall(SYS_fcntl, fd, F_OFD_GETLK, os::arg(&lock)) < 0 || lock.l_type != F_UNLCK;
}

int segment_path(char (&path)[kSegmentPathBytes], unsigned uid, const char* instance,
                 std::uint64_t pid_namespace) {
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
  if (pid_namespace && pid_namespace != os::kFirstPidNamespace)
    text << kNamespaceMark << pid_namespace;
  memcpy(path, text.c_str(), text.length() + 1);
  return 0;
}

int segment_open(Segment& segment, const char* path, bool writable) {
  return segment_open(segment, path, writable, os::pid_namespace());
}

int segment_open(Segment& segment, const char* path, bool writable, std::uint64_t pid_namespace) {
  // Another user's file of that name might keep who opens it waiting.
  int fd = os::open(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fd;
  struct stat status;
  int error = check_file(fd, status);
  if (error == 0 && status.st_size == 0) error = kSegmentUnfinished;
  if (error == 0 && status.st_size < static_cast<off_t>(sizeof(SegmentHeader)))
    error = kSegmentDamaged;
  if (error == 0) error = map(fd, status, writable, segment);
  if (error == 0) {
    error = check_header(segment, pid_namespace);
    if (error == 0) {
      resolve(segment);
    } else {
      segment_unmap(segment);
    }
  }
  os::close(fd);
  return error;
}

void segment_unmap(Segment& segment) {
  if (segment.header) munmap(segment.header, segment.bytes);
  segment = Segment{};
}

void segment_abandon(Segment& segment) {
  if (segment.header &&
      mmap(segment.header, segment.bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED)
    segment = Segment{};
  segment_unmap(segment);
}

ThreadIndex segment_take_thread(const Segment& segment, ProcessIndex process) {
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
      record.pinned_to = kNoCore;
      record.ready_ns = 0;
      record.counters = {};
      record.hand_permit.store(0, std::memory_order_relaxed);
      record.nudge.reset();
      memset(record.policy_words, 0, sizeof record.policy_words);
      record.wait_words = 0;
      record.state.store(static_cast<std::uint32_t>(State::external), std::memory_order_release);
      segment.processes[process].threads.fetch_add(1, std::memory_order_relaxed);
      return index;
    }
  }
  return kNoThread;
}

void segment_free_thread(const Segment& segment, ThreadIndex thread) {
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
    case kSegmentLocked:
      return "a process that was joining or leaving the instance has stopped in the middle of it; "
             "continue it, end it or use another --instance";
    case kSegmentOtherVersion:
      return "the segment was made by another version of Roost; end its programs or use another "
             "--instance";
    case kSegmentDamaged:
      return "the segment is damaged; end its programs and run `roost clean`";
    case kSegmentOtherNamespace:
      return "it belongs to another container (PID namespace)";
    case kSegmentOtherProc:
      return "/proc is another PID namespace's; mount one of its own (unshare --mount-proc)";
    case kSegmentNoProc:
      return "/proc is not mounted, and Roost cannot do without it";
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

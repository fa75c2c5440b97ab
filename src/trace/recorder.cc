// Makes rings, and writes into the calling thread's.
#include "trace/recorder.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "os/file.h"
#include "os/sys.h"
#include "trace/ring_file.h"

namespace roost::trace {

constinit thread_local Ring<RealWorld> own_ring;

namespace {

constinit char folder[256] = {};
constinit char instance[kInstanceBytes] = {};
constinit std::uint64_t ring_events = 0;
constinit thread_local void* own_file = nullptr;

// A write beyond the program's own limit would end it.
bool may_write(std::uint64_t bytes) {
  rlimit limit{};
  os::raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, os::arg(&limit));
  return limit.rlim_cur >= bytes;
}

// The file of this thread of this image: a process that execs keeps its numbers.
int create_file(int pid, int tid) {
  for (unsigned image = 0;; ++image) {
    Text<320> path(folder);
    path << '/' << static_cast<unsigned>(pid) << '.' << static_cast<unsigned>(tid) << '.' << image;
    int fd = os::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd != -EEXIST) return fd;
  }
}

bool allocate(int fd, std::uint64_t bytes) {
  long result;
  do {
    result = os::raw_syscall(SYS_fallocate, fd, 0, 0, static_cast<long>(bytes));
  } while (result == -EINTR);
  return result == 0;
}

// What the line of /proc/meminfo says that begins so, in bytes; 0 if there is none.
std::uint64_t memory_of(const char* text, const char* line) {
  const char* at = strstr(text, line);
  if (!at) return 0;
  for (at += strlen(line); *at == ' ';) ++at;
  std::uint64_t kib = 0;
  for (; *at >= '0' && *at <= '9'; ++at) kib = kib * 10 + static_cast<unsigned>(*at - '0');
  return kib * 1024;
}

// Rings leave an eighth of the machine's memory: thousands of threads would else take all of it.
bool is_memory_left(std::uint64_t bytes) {
  char text[256];
  if (os::read_text("/proc/meminfo", text, sizeof text) <= 0) return true;
  std::uint64_t all = memory_of(text, "MemTotal:"), left = memory_of(text, "MemAvailable:");
  return all == 0 || left >= bytes + all / 8;
}

// All of its pages, now: one that is missing later would kill the program where it writes. A file
// that cannot have them stays empty, and read-only.
void* map_file(int fd, std::uint64_t bytes) {
  if (!may_write(bytes) || !is_memory_left(bytes) || !allocate(fd, bytes)) {
    os::raw_syscall(SYS_ftruncate, fd, 0);
    os::raw_syscall(SYS_fchmod, fd, 0400);
    return nullptr;
  }
  return os::map_memory(bytes, MAP_SHARED, fd);
}

// Up to the end of the last page that was written to.
std::uint64_t used_bytes(const Ring<RealWorld>& ring) {
  std::uint64_t slots = std::min(ring.written(), ring.size());
  return (ring_file_bytes(slots) + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
}

// Gives pages that nobody wrote to back, unless `shared`: somebody else goes on writing.
void leave_ring(bool shared) {
  if (!own_ring) return;
  Ring<RealWorld> ring = own_ring;
  own_ring = {};  // a signal handler may come here
  std::uint64_t whole = ring_file_bytes(ring.size()), used = used_bytes(ring);
  if (!shared && used < whole)
    os::raw_syscall(SYS_madvise, os::arg(static_cast<char*>(own_file) + used),
                    static_cast<long>(whole - used), MADV_REMOVE);
  os::unmap_memory(own_file, whole);
  own_file = nullptr;
}

void fill_header(RingHeader& header, int pid, int tid) {
  header.size = ring_events;
  header.pid = pid;
  header.tid = tid;
  memcpy(header.instance, instance, sizeof instance);
  char name[32];
  if (os::read_text("/proc/self/comm", name, sizeof name) > 0)
    for (unsigned i = 0; i + 1 < sizeof header.program && name[i] && name[i] != '\n'; ++i)
      header.program[i] = name[i];
  header.magic.store(kRingMagic, std::memory_order_release);
}

}  // namespace

namespace slow {

void record(Event event) {
  event.time = os::now();
  own_ring.write(words_of(event));
}

}  // namespace slow

void configure(const char* in_folder, std::uint64_t events, const char* of_instance) {
  if (!in_folder || strlen(in_folder) >= sizeof folder) return;
  if (events < kFewestEvents || events > kMostEvents || (events & (events - 1))) return;
  strncpy(instance, of_instance, sizeof instance - 1);
  strncpy(folder, in_folder, sizeof folder - 1);
  ring_events = events;
}

bool configured() { return ring_events != 0; }

void thread_begins() {
  if (!configured() || own_ring) return;
  int pid = os::getpid(), tid = os::gettid();
  int fd = create_file(pid, tid);
  if (fd < 0) return;  // the recording is over
  void* file = map_file(fd, ring_file_bytes(ring_events));
  os::close(fd);
  if (!file) return;
  fill_header(*static_cast<RingHeader*>(file), pid, tid);
  own_file = file;
  own_ring = ring_in(file, ring_events);
}

void thread_ends() { leave_ring(false); }

void after_fork() { leave_ring(true); }

}  // namespace roost::trace

// Maps each file and takes what is good of it: a damaged one may say anything.
#include "cli/trace_rings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "trace/ring_file.h"

namespace roost::cli {
namespace {

class Mapping {
 public:
  explicit Mapping(const std::filesystem::path& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
      refused_ = status.st_size == 0 && !(status.st_mode & S_IWUSR);
      bytes_ = static_cast<std::size_t>(status.st_size);
      if (bytes_ >= trace::kHeaderBytes) {
        void* mapped = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED) file_ = mapped;
      }
    }
    close(fd);
  }
  ~Mapping() {
    if (file_) munmap(file_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Its thread found no room for it.
  bool refused() const { return refused_; }
  // Null if this is no ring.
  const trace::RingHeader* header() const {
    auto* header = static_cast<const trace::RingHeader*>(file_);
    if (!header || header->magic.load(std::memory_order_acquire) != trace::kRingMagic ||
        header->size < trace::kFewestEvents || header->size > trace::kMostEvents ||
        (header->size & (header->size - 1)) || bytes_ < trace::ring_file_bytes(header->size))
      return nullptr;
    return header;
  }
  trace::Ring<RealWorld> ring() const { return trace::ring_in(file_, header()->size); }

 private:
  void* file_ = nullptr;
  std::size_t bytes_ = 0;
  bool refused_ = false;
};

template <std::size_t size>
std::string text_of(const char (&bytes)[size]) {
  return {bytes, strnlen(bytes, size)};
}

ThreadTrace read_ring(const trace::RingHeader& header, const trace::Ring<RealWorld>& ring) {
  ThreadTrace thread;
  thread.pid = header.pid;
  thread.tid = header.tid;
  thread.program = text_of(header.program);
  thread.instance = text_of(header.instance);
  std::uint64_t written = ring.written();
  std::uint64_t first = written > ring.size() ? written - ring.size() : 0;
  thread.lost = first;
  for (std::uint64_t number = first; number < written; ++number) {
    trace::EventWords words;
    if (ring.read(number, words)) {
      thread.events.push_back(trace::event_of(words));
    } else {
      ++thread.lost;
    }
  }
  return thread;
}

}  // namespace

Rings read_rings(const std::string& folder) {
  Rings rings;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    Mapping file(entry.path());
    if (const trace::RingHeader* header = file.header()) {
      rings.threads.push_back(read_ring(*header, file.ring()));
    } else if (file.refused()) {
      ++rings.without_room;
    }
  }
  return rings;
}

}  // namespace roost::cli

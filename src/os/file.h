// Reads the kernel's small text files (sysfs, proc, cgroup) without stdio and without the heap.
#pragma once

#include <cstddef>

#include "os/sys.h"

namespace roost::os {

// Reads a whole file as null-terminated text. Returns its length, -errno, or -EFBIG if it does not
// fit (`text` then holds its beginning).
long read_text(const char* path, char* text, std::size_t capacity);

// A file line by line, or by entries that end with another byte, for files of any length. Lines
// longer than the buffer come cut off at its end.
class LineReader {
 public:
  explicit LineReader(const char* path, char end = '\n')
      : fd_(open(path, O_RDONLY | O_CLOEXEC)), end_of_line_(end) {}
  ~LineReader() {
    if (fd_ >= 0) close(fd_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // 0 or why the file could not be opened, -errno.
  int error() const { return fd_ < 0 ? fd_ : 0; }
  // The next line without its end, valid until the next call; null at the end.
  char* next();

 private:
  bool fill();

  int fd_;
  char end_of_line_;
  std::size_t begin_ = 0;  // the unread part of the buffer
  std::size_t end_ = 0;
  bool skip_ = false;  // the rest of the last line is still to come and of no interest
  char buffer_[4096];
};

}  // namespace roost::os

// Reads the kernel's small text files.
#include "os/file.h"

#include <cerrno>
#include <cstring>

namespace roost::os {
namespace {

long read_again(int fd, char* buffer, std::size_t bytes) {
  long count;
  do {
    count = read(fd, buffer, bytes);
  } while (count == -EINTR);
  return count;
}

}  // namespace

long read_text(const char* path, char* text, std::size_t capacity) {
  text[0] = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  std::size_t length = 0;
  long count = 0;
  while (length + 1 < capacity &&
         (count = read_again(fd, text + length, capacity - 1 - length)) > 0) {
    length += static_cast<std::size_t>(count);
  }
  char beyond;
  if (count > 0 && read_again(fd, &beyond, 1) > 0) count = -EFBIG;
  close(fd);
  text[length] = 0;
  return count < 0 ? count : static_cast<long>(length);
}

// Moves the unread part to the front and reads more behind it; false if nothing came.
bool LineReader::fill() {
  std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  long count = read_again(fd_, buffer_ + end_, sizeof buffer_ - 1 - end_);
  if (count <= 0) return false;
  end_ += static_cast<std::size_t>(count);
  return true;
}

char* LineReader::next() {
  if (fd_ < 0) return nullptr;
  for (;;) {
    char* line = buffer_ + begin_;
    auto* newline = static_cast<char*>(std::memchr(line, end_of_line_, end_ - begin_));
    bool full = !newline && begin_ == 0 && end_ == sizeof buffer_ - 1;
    bool last = !newline && !full && !fill();
    if (!newline && !full && !last) continue;
    line = buffer_ + begin_;
    bool wanted = !skip_;
    if (newline) {
      *newline = 0;
      begin_ = static_cast<std::size_t>(newline - buffer_) + 1;
      skip_ = false;
    } else {
      buffer_[end_] = 0;
      if (last && begin_ == end_) return nullptr;
      begin_ = end_;
      skip_ = true;
    }
    if (wanted) return line;
  }
}

}  // namespace roost::os

// A bar on the terminal while much is under way; nothing where standard error is no terminal.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace roost::cli {

// A line on the terminal while many runs are under way.
class Progress {
 public:
  explicit Progress(std::size_t runs) : runs_(runs), terminal_(isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }
  void next(const std::string& what) {
    using std::chrono::steady_clock;
    if (terminal_ && steady_clock::now() - begin_ > std::chrono::seconds(1)) {
      constexpr std::size_t kWidth = 30;
      std::size_t full = done_ * kWidth / runs_;
      fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {} of {}: {}", "", full, "", kWidth - full,
                 done_, runs_, what);
      shown_ = true;
    }
    ++done_;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  std::size_t runs_, done_ = 0;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace roost::cli

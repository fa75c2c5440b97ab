// A bar on the terminal while much is under way; nothing where standard error is no terminal.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace roost::cli {

// Many runs, one after the other. Appears after a second, and is drawn anew ten times a second.
class Progress {
 public:
  explicit Progress(std::size_t runs) : runs_(runs), terminal_(isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }
  bool is_shown() const { return terminal_; }
  // The next run begins.
  void next(const std::string& what) {
    what_ = what;
    ++begun_;
    inside(0);
  }
  // How far the present run is, from 0 to 1.
  void inside(double part) {
    auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now < next_drawing_) return;
    next_drawing_ = now + std::chrono::milliseconds(100);
    constexpr double kWidth = 30;
    double done = static_cast<double>(begun_ - 1) + std::min(part, 1.0);
    auto full = static_cast<std::size_t>(kWidth * done / static_cast<double>(runs_));
    fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {} of {}: {}", "", full, "",
               static_cast<std::size_t>(kWidth) - full, begun_, runs_, what_);
    if (part > 0) fmt::print(stderr, ", {:.0f} %", 100 * std::min(part, 1.0));
    shown_ = true;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  std::size_t runs_, begun_ = 0;
  bool terminal_, shown_ = false;
  std::string what_;
  std::chrono::steady_clock::time_point next_drawing_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

}  // namespace roost::cli

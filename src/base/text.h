// Text of bounded length in place: what guest code builds paths and error sentences with, since it
// has no heap. What does not fit is cut off and remembered; the text always ends in a null.
#pragma once

#include <concepts>
#include <cstddef>

namespace roost {

template <std::size_t capacity>
class Text {
 public:
  Text() = default;
  explicit Text(const char* text) { *this << text; }

  Text& operator<<(const char* text) {
    while (*text) *this << *text++;
    return *this;
  }
  Text& operator<<(char c) {
    if (length_ + 1 < capacity) {
      bytes_[length_++] = c;
      bytes_[length_] = 0;
    } else {
      cut_ = true;
    }
    return *this;
  }
  template <std::unsigned_integral Number>
  Text& operator<<(Number number) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number);
    while (count) *this << digits[--count];
    return *this;
  }

  // Up to `count` bytes, to the first null.
  void append(const char* text, std::size_t count) {
    while (count-- && *text) *this << *text++;
  }
  void shorten(std::size_t length) {
    if (length >= length_) return;
    length_ = length;
    bytes_[length] = 0;
  }
  void clear() {
    shorten(0);
    cut_ = false;
  }

  const char* c_str() const { return bytes_; }
  std::size_t length() const { return length_; }
  bool cut() const { return cut_; }

 private:
  char bytes_[capacity] = {};
  std::size_t length_ = 0;
  bool cut_ = false;
};

// One sentence that tells a user what is wrong.
using ErrorText = Text<256>;
using PathText = Text<1024>;

}  // namespace roost

// Reads a variable's value from left to right, skipping white space.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost::omp::parse {

class Cursor {
 public:
  explicit Cursor(const char* text) : at_(text) {}

  bool ended() {
    skip();
    return !*at_;
  }
  // A letter or a sign, of either case.
  bool letter(char wanted) {
    skip();
    if (lower(*at_) != lower(wanted)) return false;
    ++at_;
    return true;
  }
  // A whole word, of either case: what follows is no part of a name.
  bool name(const char* wanted) {
    skip();
    const char* at = at_;
    for (; *wanted; ++wanted, ++at)
      if (lower(*at) != lower(*wanted)) return false;
    if (in_name(*at)) return false;
    at_ = at;
    return true;
  }
  // The first candidate whose name is the word here; null, and nothing read, if none is.
  template <class Named, std::size_t n>
  const Named* one_of(const Named (&candidates)[n]) {
    for (const Named& candidate : candidates)
      if (name(candidate.name)) return &candidate;
    return nullptr;
  }
  // A decimal number, perhaps with a sign. False, and nothing read, if there is none or it is too
  // large.
  bool number(std::int64_t& value) {
    skip();
    const char* at = at_;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') ++at;
    if (*at < '0' || *at > '9') return false;
    std::int64_t result = 0;
    for (; *at >= '0' && *at <= '9'; ++at) {
      if (__builtin_mul_overflow(result, std::int64_t{10}, &result) ||
          __builtin_add_overflow(result, std::int64_t{*at - '0'}, &result)) {
        return false;
      }
    }
    value = negative ? -result : result;
    at_ = at;
    return true;
  }

 private:
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
  static bool in_name(char c) {
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }
  void skip() {
    while (*at_ == ' ' || (*at_ >= '\t' && *at_ <= '\r')) ++at_;
  }

  const char* at_;
};

}  // namespace roost::omp::parse

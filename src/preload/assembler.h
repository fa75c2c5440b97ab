// Machine code for x86-64, written byte by byte where it will be executed.
#pragma once

#include <cstdint>

namespace roost {

class Assembler {
 public:
  explicit Assembler(std::uint8_t* at) : at_(at) {}
  template <class... Bytes>
  void code(Bytes... bytes) {
    ((*at_++ = static_cast<std::uint8_t>(bytes)), ...);
  }
  void load_rax(std::uint64_t value) {
    code(0x48, 0xb8);
    number(value, 8);
  }
  void load_r11(std::uint64_t value) {
    code(0x49, 0xbb);
    number(value, 8);
  }
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) code(value >> (8 * i));
  }
  // Where a variable of each thread lies, which is the same in all: initial-exec.
  void place_in_thread(const void* variable) {
    auto offset =
        static_cast<const char*>(variable) - static_cast<const char*>(__builtin_thread_pointer());
    number(static_cast<std::uint64_t>(offset), 4);
  }
  void jump(std::uint64_t target) {
    code(0xe9);
    number(target - (position() + 4), 4);
  }
  std::uint64_t position() const { return reinterpret_cast<std::uint64_t>(at_); }

 private:
  std::uint8_t* at_;
};

}  // namespace roost

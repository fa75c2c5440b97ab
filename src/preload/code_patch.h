// Changes the program's own code, privately to this process, while other threads run it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost {

// Asks the kernel for what the functions below need. False if this kernel does not have it: code is
// then left alone. Once, before any other.
bool code_patch_start();

// Whether the program may write its code there itself at the moment; false if the kernel cannot
// say.
bool is_writable_code(std::uint64_t address);

// Writes bytes that no thread executes.
class CodeWriter {
 public:
  CodeWriter();
  ~CodeWriter();
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;
  // False, and nothing changed, if the code cannot be written.
  bool write(std::uint64_t address, const std::uint8_t* bytes, std::size_t size);

 private:
  int memory_;  // a descriptor of the process's memory, or -errno
};
inline bool write_unused_code(std::uint64_t address, const std::uint8_t* bytes, std::size_t size) {
  return CodeWriter().write(address, bytes, size);
}

// Changes a byte, or some within an aligned word of eight, that other threads may be executing: one
// store. Not by two threads at a time.
bool write_at_once(std::uint64_t address, const std::uint8_t* bytes, unsigned size);

// After this every thread of the process executes what was written before.
void synchronise_code();

inline constexpr std::uint64_t kCodePageBytes = 4096;
// A page for code within reach of a 32-bit jump from `near`; null if there is none.
// `publish` makes it executable and read-only.
std::uint8_t* allocate_code_page(std::uint64_t near);
bool publish_code_page(std::uint8_t* page);
void free_code_page(std::uint8_t* page);

}  // namespace roost

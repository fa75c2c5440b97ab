// A handler returns to a few instructions of libc's (or of whoever installed it) whose address the
// kernel puts below the handler's frame: it is looked for on the stack.
#include "preload/in_handler.h"

#include <cstddef>
#include <cstdint>

#include "os/sys.h"

namespace roost {
namespace {

// Where the handlers of the process return to.
class Restorers {
 public:
  Restorers() {
    constexpr std::uintptr_t kDefault = 0, kIgnore = 1;
    for (int signal = 1; signal <= os::kSignals; ++signal) {
      os::KernelAction action{};
      if (os::kernel_action(signal, nullptr, &action) != 0) continue;
      if (action.handler != kDefault && action.handler != kIgnore) add(action.restorer);
    }
  }
  bool none() const { return count_ == 0; }
  bool too_many() const { return count_ > kMost; }
  bool have(std::uint64_t address) const {
    for (unsigned i = 0; i < count_; ++i)
      if (addresses_[i] == address) return true;
    return false;
  }

 private:
  static constexpr unsigned kMost = 4;

  void add(std::uint64_t address) {
    if (have(address)) return;
    if (count_ < kMost) addresses_[count_] = address;
    if (count_ <= kMost) ++count_;
  }

  std::uint64_t addresses_[kMost + 1] = {};
  unsigned count_ = 0;
};

// Whether what lies behind the address of a restorer is what the kernel puts there (a ucontext),
// not a copy of that address alone, as sigaction(2) returns one.
bool is_frame(std::uint64_t at) {
#if defined(__x86_64__)
  constexpr std::uint64_t kUserCode = 0x33;  // the segment of 64-bit code
  struct {
    std::uint64_t flags, link, stack[3], registers[18], segments;
  } context = {};
  return os::read_own_memory(at + sizeof at, &context, sizeof context) && context.link == 0 &&
         (context.segments & 0xffff) == kUserCode;
#else
  static_cast<void>(at);
  return true;
#endif
}

}  // namespace

bool perhaps_in_handler() {
  constexpr std::size_t kMostStack = std::size_t{1} << 20, kWords = 128;
  Restorers restorers;
  if (restorers.none()) return false;
  if (restorers.too_many()) return true;
  std::uint64_t words[kWords] = {};
  constexpr std::uint64_t kBytes = sizeof words;
  auto first = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  // Pieces that lie in one page each: what is behind the stack may not be readable.
  for (std::uint64_t at = first & ~(kBytes - 1); at - first + kBytes < kMostStack + kBytes;
       at += kBytes) {
    if (!os::read_own_memory(at, words, kBytes)) return false;
    for (std::size_t i = 0; i < kWords; ++i)
      if (std::uint64_t address = at + i * sizeof *words;
          address >= first && restorers.have(words[i]) && is_frame(address))
        return true;
  }
  return true;
}

}  // namespace roost

// Which of a thread's yields are worth the kernel's, where no thread of Roost's wants the core.
#pragma once

#include <cstdint>

namespace roost {

// Of one thread, with times in ticks (base/ticks.h). The kernel's yield lets threads run that Roost
// does not know; it returns at once where there are none, and takes ten times as long as Roost
// takes to see that nobody is READY. Who polls yields each time: ranks of MPI that wait for each
// other's messages, say. So after many in a row that returned at once, it is the kernel's but once
// in a while, until one takes longer. Others wait that while for the CPU.
//
// Many: the kernel (EEVDF) moves the deadline of who yields by one of its slices each time, and
// runs it on while that is before the others'. Ours are short (docs/design/013-short-slices.md): 13
// yields come to one turn of another thread, some 900 if that has a nice value of 19.
class KernelYields {
 public:
  // At `now`, when the thread would yield: whether to the kernel.
  bool is_due(std::uint64_t now) {
    if (in_vain_ >= kMany && now - returned_ < kWhile) return false;
    called_ = now;
    return true;
  }
  // The kernel's yield is over at `now`.
  void returned(std::uint64_t now) {
    bool at_once = now - called_ < kSwitch;
    in_vain_ = !at_once ? 0 : in_vain_ < kMany ? in_vain_ + 1 : kMany;
    returned_ = now;
  }

 private:
  static constexpr std::uint64_t kSwitch = 2500;   // 0.5 to 2.5 us: less than to another and back
  static constexpr std::uint64_t kWhile = 30'000;  // 6 to 30 us
  static constexpr unsigned kMany = 1024;
  std::uint64_t called_ = 0, returned_ = 0;
  unsigned in_vain_ = 0;
};

}  // namespace roost

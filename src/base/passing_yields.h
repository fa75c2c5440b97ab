// Yields of a thread that is on its way: those of a library that has found nothing to do just now,
// whether its caller waits or not.
//
// A rank of MPI that completes its transfers one by one (MPI_Win_flush) yields at each, as Open
// MPI's progress does; where another rank is READY each costs two switches, and is for nothing. Who
// waits comes back to the same yield with the same registers, round after round; who is on its way
// comes with others, soon.
#pragma once

#include <cstdint>

namespace roost {

// Of one thread, with times in ticks (base/ticks.h).
class PassingYields {
 public:
  // At a yield at `now`, of a wait that `name` tells from the next one, at a place that is mostly
  // left after it. Whether the thread is to go on: so many times in a row, and each for so long, at
  // most.
  bool goes_on(std::uint64_t name, std::uint64_t now) {
    bool passes = name != last_ && now - returned_ < kSoon && in_a_row_ < kMost;
    last_ = name;
    in_a_row_ = passes ? in_a_row_ + 1 : 0;
    if (passes) returned_ = now;
    return passes;
  }
  // A yield that was not passed over is over at `now`.
  void returned(std::uint64_t now) { returned_ = now; }

  static constexpr unsigned kMost = 16;

 private:
  static constexpr std::uint64_t kSoon = 10'000;  // 2 to 10 us
  std::uint64_t last_ = 0, returned_ = 0;
  unsigned in_a_row_ = 0;
};

}  // namespace roost

// What has been seen of the regions of a function, for those to come: how their members wait for
// each other.
#pragma once

#include <cstdint>

namespace roost::omp {

struct Team;

// Members that wait for each other by spinning had better run all at once, each on a core, or all
// on one core, where each wait costs a switch between light threads. In between, each would cost
// one between OS threads. Where one polls so that nobody sees it wait, others must be free to begin
// the rest; and where they block in libc unseen, as without Roost, each needs an OS thread of its
// own. `unseen`: of a region that runs for the first time.
enum class Waiting { unseen, calm, spinning, polling, blocking };

// By who ends a region of several members.
void learn_waiting(const Team& team);
Waiting how_waiting(const void* function);
// By who opens a region: what to make of it.
struct Expected {
  // Now and then `unseen` for one that is remembered as blocking: what its members waited for may
  // have been there only at first (libraries load and allocate), and OS threads are dear. So
  // `spinning` for one that polls.
  Waiting waiting = Waiting::unseen;
  // Its members compute for long and do not wait for members that have not begun.
  bool computes = false;
  // How many of its last regions in a row ended as soon as the last member began that had been left
  // for long: each time it is left for twice as long, as those that end by chance end before.
  std::uint8_t awaited = 0;
};
Expected what_to_expect(const void* function);

}  // namespace roost::omp

// Threads at large: the watchdog took their core, because they slept where Roost does not see it or
// computed past the policy's patience, and they have passed no scheduling point since. The kernel
// runs them beside the owners of the cores.
//
// If all that they do from then on is to wait for each other by spinning, nobody is READY and
// nobody would ask them: they would be what they are without Roost. So the leader asks them, too,
// and the owners beside whom they run: who only waits queues for a core. Ever more rarely, since
// one that computes loses time by it; often again once somebody was found to wait.
#pragma once

#include <algorithm>

#include "base/types.h"
#include "sched/watchdog.h"

namespace roost {

// Hands has:
//   is_at_large(thread)   still
//   uses_cpu(thread)      or waits for it, so the kernel says
//   ask_at_large(thread)  by a signal, to queue for a core if it only waits
// All zero at first.
class AtLarge {
 public:
  // The watchdog has taken its core. One that does not fit in is not asked.
  void add(ThreadIndex thread, Nanoseconds now) {
    for (unsigned i = 0; i < n_; ++i)
      if (threads_[i].index == thread) return begin(threads_[i], now);
    if (n_ == kMost) return;
    threads_[n_].index = thread;
    begin(threads_[n_++], now);
  }

  bool knows(ThreadIndex thread) const {
    return std::any_of(threads_, threads_ + n_,
                       [&](const Thread& it) { return it.index == thread; });
  }

  // At a tick of the leader's. `found`: how many of those asked have been found to wait.
  template <class Hands>
  void look(Hands&& hands, std::uint32_t found, Nanoseconds now) {
    bool spinners_about = found != found_;
    found_ = found;
    for (unsigned i = 0; i < n_;) {
      Thread& it = threads_[i];
      if (!hands.is_at_large(it.index)) {
        it = threads_[--n_];
        continue;
      }
      ++i;
      if (spinners_about) {
        it.next = std::min(it.next, now);
        it.pause = kBusyTick;
      }
      if (now < it.next) continue;
      it.runs = hands.uses_cpu(it.index);
      if (it.runs) hands.ask_at_large(it.index);
      it.next = now + it.pause;
      it.pause = std::min(2 * it.pause, kLongestPause);
    }
  }

  // Calls see(thread) for each that used the CPU when it was last looked at.
  template <class See>
  void for_each_running(See&& see) const {
    std::for_each(threads_, threads_ + n_, [&](const Thread& it) {
      if (it.runs) see(it.index);
    });
  }

  bool any() const { return n_ != 0; }
  // Those that used the CPU when they were last looked at.
  std::uint32_t running() const {
    std::uint32_t count = 0;
    for_each_running([&](ThreadIndex) { ++count; });
    return count;
  }

 private:
  static constexpr unsigned kMost = 256;
  static constexpr Nanoseconds kLongestPause = 64'000'000;

  struct Thread {
    ThreadIndex index;
    bool runs;
    Nanoseconds next;  // when it is looked at
    Nanoseconds pause;
  };
  static void begin(Thread& it, Nanoseconds now) {
    it.runs = true;
    it.next = now + kBusyTick;
    it.pause = kBusyTick;
  }

  Thread threads_[kMost];
  unsigned n_;
  std::uint32_t found_;
};

}  // namespace roost

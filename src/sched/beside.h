// Threads that come back from a wait in the kernel and are about to wait there again in a moment:
// those that do I/O. While all cores are busy such a thread does not queue for one, it runs beside
// the owners: the kernel lets it in between, as it would without Roost, and its wait is over when
// the kernel says so. Eight for each core at most.
//
// It has no core, and is at large for all others (sched/at_large.h): at its next scheduling point
// it is as one whose core was taken. Decision and figures: docs/design/030-beside.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.h"

namespace roost {

// How long a thread uses a core between two waits in the kernel; its own.
class Runs {
 public:
  // `used`: its CPU time, if the kernel may run others in between; else 0.
  void begin(Nanoseconds now, Nanoseconds used) {
    began_ = now;
    used_before_ = used;
  }
  // `used()`: its CPU time. Runs shorter than `longest` are brief.
  template <class Used>
  void end(Nanoseconds longest, Nanoseconds now, Used&& used) {
    if (began_ == 0) return;
    bool brief = now - began_ < longest;
    if (!brief && used_before_ != 0) brief = used() - used_before_ < longest;
    brief_ = brief ? std::uint8_t(brief_ + (brief_ < kMost)) : std::uint8_t(brief_ / 2);
  }
  // Whether the CPU time of the next one may matter (it takes a system call). Of one that seldom is
  // long by the clock, it is enough to ask after one that was.
  bool want_cpu_time() const { return brief_ < kMost; }
  // Whether the next one is likely to be brief.
  bool are_brief() const { return brief_ >= kEnough; }

 private:
  static constexpr std::uint8_t kEnough = 2, kMost = 8;
  Nanoseconds began_ = 0, used_before_ = 0;
  std::uint8_t brief_ = 0;  // so many of late
};

// A place beside a core, a word of the segment: who took it last, and when. It is free if that
// thread is at large no more. 0 at first.
class PlaceBeside {
 public:
  explicit PlaceBeside(std::atomic<std::uint64_t>& word) : word_(word) {}

  // kNoThread if nobody has ever been there.
  ThreadIndex thread() const { return thread_of(word_.load(std::memory_order_relaxed)); }
  // How long ago it was taken, to a millisecond; counted round every 52 days.
  Nanoseconds age(Nanoseconds now) const {
    std::uint64_t since = word_.load(std::memory_order_relaxed) & kTimeMask;
    return (((now >> kTimeShift) - since) & kTimeMask) << kTimeShift;
  }
  // `is_there(thread)`: whether it is at large still. False if the place is taken.
  template <class IsThere>
  bool take(ThreadIndex thread, Nanoseconds now, IsThere&& is_there) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    ThreadIndex before = thread_of(word);
    if (before != kNoThread && before != thread && is_there(before)) return false;
    std::uint64_t own = (std::uint64_t{thread} + 1) << 32 | (now >> kTimeShift & kTimeMask);
    return word_.compare_exchange_strong(word, own, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kTimeShift = 20;
  static constexpr std::uint64_t kTimeMask = 0xffff'ffff;
  static ThreadIndex thread_of(std::uint64_t word) {
    return static_cast<ThreadIndex>(word >> 32) - 1;
  }

  std::atomic<std::uint64_t>& word_;
};

}  // namespace roost

// By which word a thread and whoever asks it by a signal keep the signal out of system calls.
#pragma once

#include <atomic>
#include <cstdint>

namespace roost {

// A signal ends some calls early: waits with EINTR, long reads and sends with a part of their
// result, whatever its handler's SA_RESTART. So a thread takes it before such a call, or not at
// all. [nudge-1] and [nudge-2] in sched/PROTOCOL.md.
//
// In the segment; a template over a World, so that models/nudge_word.cc can check it.
template <class W>
class NudgeWord {
 public:
  // By anyone: sends unless the thread refuses or, by `may_be_asked()`, is not to be asked (any
  // more). True if it was sent now or is on its way: never two at once, of which the second would
  // come unannounced.
  template <class MayBeAsked, class Send>
  bool ask(const MayBeAsked& may_be_asked, const Send& send) {
    std::uint32_t before = kNone;
    if (!word_.compare_exchange_strong(before, kComing, std::memory_order_relaxed,
                                       std::memory_order_relaxed))
      return before == kComing;
    W::fence();  // [nudge-1], and acquires what accept() released
    if (may_be_asked() && send()) return true;
    arrived();
    return false;
  }

  // By the thread's handler.
  void arrived() {
    std::uint32_t coming = kComing;
    word_.compare_exchange_strong(coming, kNone, std::memory_order_release,
                                  std::memory_order_relaxed);
  }
  bool is_coming() const { return word_.load(std::memory_order_relaxed) == kComing; }
  bool is_refused() const { return word_.load(std::memory_order_relaxed) == kRefused; }

  // [nudge-1] By the thread that has just come to be one that may not be asked: one on its way
  // comes first, while `pause()` says to wait on.
  template <class Pause>
  void let_pass(Pause&& pause) {
    W::fence();
    while (__builtin_expect(word_.load(std::memory_order_seq_cst) == kComing, 0)) {
      if (!pause()) return arrived();
    }
  }

  // [nudge-2] By the thread: none comes until accept(), through all that handlers do meanwhile.
  // False if that holds already.
  template <class Pause>
  bool refuse(Pause&& pause) {
    for (;;) {
      std::uint32_t before = kNone;
      if (word_.compare_exchange_strong(before, kRefused, std::memory_order_relaxed,
                                        std::memory_order_relaxed))
        return true;
      if (before == kRefused) return false;
      let_pass(pause);
    }
  }
  // Nothing if it does not refuse.
  void accept() {
    std::uint32_t refused = kRefused;
    word_.compare_exchange_strong(refused, kNone, std::memory_order_release,
                                  std::memory_order_relaxed);
  }

  // By who takes the record for a thread.
  void reset() { word_.store(kNone, std::memory_order_relaxed); }

 private:
  enum : std::uint32_t { kNone, kComing, kRefused };

  typename W::template atomic<std::uint32_t> word_{kNone};
};

}  // namespace roost

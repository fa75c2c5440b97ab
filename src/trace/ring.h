// A thread's last events: one writer, any readers, the oldest overwritten (trace/PROTOCOL.md).
//
// It lies in a file that all map, and is readable whenever and however the writer ends. A signal
// handler may write in the midst of the writer's own write. Cost of a write: one locked instruction
// on a line of the thread's own, six stores; about 15 ns, and 28 for the clock.
#pragma once

#include "base/world.h"
#include "trace/event.h"

namespace roost::trace {

// What the words of an event are to the ring.
struct EventWords {
  std::uint64_t word[4];
};

constexpr EventWords words_of(const Event& event) {
  return {{event.time,
           static_cast<std::uint64_t>(event.kind) | std::uint64_t{event.detail} << 8 |
               std::uint64_t{event.core} << 16 | std::uint64_t{event.value} << 32,
           event.a, event.b}};
}
constexpr Event event_of(const EventWords& words) {
  return {words.word[0],
          static_cast<Kind>(words.word[1] & 0xff),
          static_cast<std::uint8_t>(words.word[1] >> 8),
          static_cast<CoreIndex>(words.word[1] >> 16),
          static_cast<std::uint32_t>(words.word[1] >> 32),
          words.word[2],
          words.word[3]};
}

template <class W>
struct Slot {
  // 0: empty or being written; else the number of the event, from 1.
  typename W::template atomic<std::uint64_t> sequence{};
  typename W::template atomic<std::uint64_t> word[4] = {};
};

template <class W>
struct RingCursor {
  typename W::template atomic<std::uint64_t> next{};  // events begun to be written
};

// The ring as those see it who have its parts: `size` is a power of two.
template <class W>
class Ring {
 public:
  Ring() = default;
  Ring(RingCursor<W>* cursor, Slot<W>* slots, std::uint64_t size)
      : cursor_(cursor), slots_(slots), size_(size) {}

  explicit operator bool() const { return slots_ != nullptr; }
  std::uint64_t size() const { return size_; }
  // Events written so far, overwritten ones among them.
  std::uint64_t written() const { return cursor_->next.load(std::memory_order_acquire); }

  // By the writer, or a signal handler that interrupted it.
  void write(const EventWords& words) {
    // One step, so that a handler in between takes the next slot.
    std::uint64_t number = cursor_->next.fetch_add(1, std::memory_order_relaxed);
    Slot<W>& slot = slots_[number & (size_ - 1)];
    slot.sequence.store(0, std::memory_order_relaxed);
    for (unsigned i = 0; i < 4; ++i)
      slot.word[i].store(words.word[i], std::memory_order_release);  // [ring-2] after the 0
    slot.sequence.store(number + 1, std::memory_order_release);      // [ring-1] after the words
  }

  // By anybody, at any time. False: it has been overwritten, or was never finished.
  bool read(std::uint64_t number, EventWords& words) const {
    const Slot<W>& slot = slots_[number & (size_ - 1)];
    if (slot.sequence.load(std::memory_order_acquire) != number + 1) return false;  // [ring-1]
    for (unsigned i = 0; i < 4; ++i)
      words.word[i] = slot.word[i].load(std::memory_order_acquire);  // [ring-2]
    return slot.sequence.load(std::memory_order_relaxed) == number + 1;
  }

 private:
  RingCursor<W>* cursor_ = nullptr;
  Slot<W>* slots_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace roost::trace

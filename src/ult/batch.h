// A batch: calls run(0) to run(n - 1), each made once, by whoever takes its ticket.
//
// Who opens a batch (an OpenMP team's master) need not hand out its calls: whoever has time takes
// the next. All of it is one word, so a thief may look at a batch that has ended and been opened
// again meanwhile: a ticket it takes is a ticket of the batch as it is then. Batches are therefore
// never given back to the system (ult/memory.h), and what a call needs is written before the batch
// is opened [batch-1].
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "base/world.h"

namespace roost::ult {

inline constexpr unsigned kMaxCalls = 0xffff;
inline constexpr unsigned kNoCall = ~0u;
// Added to the number of a call that is over: does pieces of the batch's other work in its name.
inline constexpr unsigned kHelps = 0x10000;

// The tickets alone, for the model checker.
template <class W>
class Tickets {
 public:
  //   bits 0-15   number of calls
  //   bits 16-31  the next call
  //   bits 32-63  how often the batch was opened
  using Word = std::uint64_t;

  // By the owner, once all tickets of the last round are taken: calls `next` to n - 1.
  void open(unsigned next, unsigned n) {
    Word next_round = round(word_.load(std::memory_order_relaxed)) + 1;
    // [batch-1] release: whoever takes a ticket sees what the batch is.
    word_.store(next_round << 32 | Word{next} << 16 | n, std::memory_order_release);
  }

  // By the owner: one call more. What it needs is written before, as for open().
  void add() { word_.fetch_add(1, std::memory_order_release); }  // [batch-1]

  Word look() const { return word_.load(std::memory_order_acquire); }  // [batch-1]
  static bool left(Word word) { return (word >> 16 & 0xffff) < (word & 0xffff); }
  bool left() const { return left(word_.load(std::memory_order_relaxed)); }
  static Word round(Word word) { return word >> 32; }
  static unsigned next(Word word) { return static_cast<unsigned>(word >> 16 & 0xffff); }

  // Takes the next call if the tickets still are as seen.
  bool take_if(Word seen) {
    return word_.compare_exchange_strong(seen, seen + (Word{1} << 16), std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  // The next call, or kNoCall.
  unsigned take() {
    for (Word seen = look(); left(seen); seen = look()) {
      if (take_if(seen)) return next(seen);
    }
    return kNoCall;
  }

 private:
  typename W::template atomic<Word> word_{0};
};

struct Batch {
  Tickets<RealWorld> tickets;
  // Whose call opened this one, or null. Constant while tickets are left.
  std::atomic<const Batch*> parent{nullptr};
  void (*run)(Batch* batch, unsigned call) = nullptr;
  // How many of its calls are a carrier's share, where several carriers have been sent some; else
  // 0. Calls that wait for each other by spinning are begun as they wait, and whoever waits first
  // would begin most. Grows with the calls that are added.
  std::atomic<unsigned> share{0};
  // Pieces of other work that those who wait in a call of this batch can do (OpenMP tasks); a hint.
  std::atomic<std::uint32_t> pieces{0};
  // A call that is over and in whose name such pieces can be done, counted from 1; 0: none. Who
  // does them takes it, and puts it back before the batch can be opened again.
  mutable std::atomic<std::uint32_t> free_helper{0};
  // Each of its calls but the opener's own was sent to a worker that has a core for it: who spins
  // in one waits for another core, and so for a moment.
  std::atomic<bool> apart{false};
  // Whether one of its calls was found waiting by spinning, for a call that shares its carrier.
  mutable std::atomic<bool> spins{false};
  // Whether one of its calls slept for long in a call that does not let others run.
  mutable std::atomic<bool> blocks{false};
  // Whether one of its calls kept its carrier for so long that others had to be told of those that
  // nobody had begun.
  mutable std::atomic<bool> kept{false};
  // Whether its calls are known to compute for long: one went on though others had not begun.
  mutable std::atomic<bool> computes{false};
  // When the last of its calls was begun because those begun before went on and on without it.
  std::atomic<Nanoseconds> last_due{0};
  // How often the time is to be doubled for which its calls are left before one is begun for that.
  std::atomic<std::uint8_t> patience{0};
  // How long its calls have paused in libc, to look at something again after it perhaps, in ns.
  mutable std::atomic<Nanoseconds> polled{0};
  // Wakes those that wait in calls of the batch, to do that work. Called when pieces are left and
  // this carrier has nothing else to do.
  void (*assist)(const Batch* batch) = nullptr;

  // So many bytes from here on, what is derived from a batch included, may be read by who begins a
  // call of it, on another core than the owner's, who writes them before it opens the batch. Asked
  // for all at once, they take little longer than one.
  static constexpr std::size_t kReadAtCall = 5 * kCacheLine;
  void prefetch_for_call() const {
    for (std::size_t at = 0; at < kReadAtCall; at += kCacheLine)
      __builtin_prefetch(reinterpret_cast<const char*>(this) + at);
  }
  void prefetch_for_owner() const {
    for (std::size_t at = 0; at < kReadAtCall; at += kCacheLine)
      prefetch_for_write(reinterpret_cast<const char*>(this) + at);
  }

  // By the owner, before those calls can be begun: `calls`, its own among them, are for so many
  // carriers.
  void share_among(unsigned calls, unsigned carriers) {
    share.store(carriers > 1 ? (calls + carriers - 1) / carriers : 0, std::memory_order_relaxed);
  }
  // By the owner, as it opens the batch: how the calls of the last round waited.
  void forget_waits() {
    spins.store(false, std::memory_order_relaxed);
    blocks.store(false, std::memory_order_relaxed);
    kept.store(false, std::memory_order_relaxed);
    computes.store(false, std::memory_order_relaxed);
    last_due.store(0, std::memory_order_relaxed);
    polled.store(0, std::memory_order_relaxed);
  }

  // Whether it was opened in a call of `ancestor`, however far down, or is it. What a thief reads
  // here may be of several rounds: then its ticket is not valid any more.
  bool descends_from(const Batch* ancestor) const {
    const Batch* batch = this;
    for (unsigned depth = 0; batch && depth < kDeepest; ++depth) {
      if (batch == ancestor) return true;
      batch = batch->parent.load(std::memory_order_relaxed);
    }
    return false;
  }
  static constexpr unsigned kDeepest = 256;
};

}  // namespace roost::ult

// The state word of a thread record and its transitions: block, unpark, grant (sched/PROTOCOL.md).
//
//   bits 0-2   State
//   bit  3     kPermit: a wake-up that came before the block it was meant for; block() consumes it
//   bit  4     kSleeping: the thread is, or is about to be, in futex_wait on this word
//   bit  5     kAwake: it waits in the run queue of its CPU, or is about to; whoever grants it
//   another core moves it
//   bit  6     kAway: a signal handler that interrupted its wait waits itself; it gets no core
//   bits 8-31  while RUNNING, core << 8; while READY the Party that holds the thread, or the queue
//   that it is in (segment/party.h); while EXTERNAL, kAtLarge or 0
//
// Only the holder of a thread may change its State: the thread itself while RUNNING or EXTERNAL,
// the winner of the BLOCKED -> READY transition afterwards (it puts the thread in a queue or grants
// it a core), then whoever took it out of that queue. kPermit may be set by anyone.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "segment/records.h"

namespace roost {

enum class State : std::uint32_t {
  free = 0,      // record not in use
  running = 1,   // owns the core in bits 16-31
  ready = 2,     // in a queue, or held by whoever is about to queue or grant it
  blocked = 3,   // waits for unpark
  external = 4,  // in a blocking kernel call, or started and not yet admitted: no core
  detached = 5,  // runs unmanaged
};

inline constexpr std::uint32_t kStateMask = 7;
inline constexpr std::uint32_t kPermit = 8;
inline constexpr std::uint32_t kSleeping = 16;
inline constexpr std::uint32_t kAwake = 32;
inline constexpr std::uint32_t kAway = 64;
// What a thread has said of its wait, and that holds until it is granted a core.
inline constexpr std::uint32_t kWaitMask = kSleeping | kAwake | kAway;
inline constexpr unsigned kDetailShift = 8;
// The watchdog took its core, and it has come to none of Roost's calls since.
inline constexpr std::uint32_t kAtLarge = 1u << kDetailShift;

inline constexpr State state_of(std::uint32_t word) {
  return static_cast<State>(word & kStateMask);
}
inline constexpr CoreIndex core_of(std::uint32_t word) {
  return static_cast<CoreIndex>(word >> kDetailShift);
}
inline constexpr std::uint32_t running_on(CoreIndex core) {
  return static_cast<std::uint32_t>(State::running) |
         (static_cast<std::uint32_t>(core) << kDetailShift);
}
inline constexpr bool is_at_large(std::uint32_t word) {
  return state_of(word) == State::external && (word & kAtLarge);
}
inline constexpr Party holder_of(std::uint32_t ready_word) { return ready_word >> kDetailShift; }
// The core in whose queue a READY thread is; kNoCore if it is in somebody's hands, or not READY.
inline constexpr CoreIndex queue_of(std::uint32_t word) {
  bool queued = state_of(word) == State::ready && is_queue(holder_of(word));
  return queued ? static_cast<CoreIndex>(holder_of(word) & ~kQueueParty) : kNoCore;
}
inline constexpr std::uint32_t ready_in_hands_of(Party holder) {
  return static_cast<std::uint32_t>(State::ready) | (holder << kDetailShift);
}
inline constexpr std::uint32_t with_state(std::uint32_t word, State state) {
  return (word & kPermit) | static_cast<std::uint32_t>(state);
}

// What begin_block left to do.
enum class Block {
  permit,   // a wake-up was there already and is consumed: carry on, with the core
  release,  // BLOCKED: the caller must release the core it had (`core`) and wait for a grant
  no_core,  // BLOCKED, and the watchdog had taken the core before: only wait
};
struct BlockResult {
  Block block;
  CoreIndex core;
};

// By the thread itself: RUNNING -> BLOCKED, unless a permit is there.
template <class W>
BlockResult begin_block(ThreadRecord<W>& thread) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  for (;;) {
    bool permit = word & kPermit;
    bool had_core = state_of(word) == State::running;
    std::uint32_t next = permit ? word & ~kPermit : with_state(word, State::blocked);
    // [unpark-1] acquire: what the unparker wrote before is visible when the permit is consumed.
    if (!thread.state.compare_exchange_strong(word, next, std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
      continue;
    }
    if (permit) return {Block::permit, kNoCore};
    if (had_core) return {Block::release, core_of(word)};
    return {Block::no_core, kNoCore};
  }
}

// By anyone: true if the thread was BLOCKED and is now READY in the hands of `caller`, who must
// pass it to the ledger. Otherwise a permit is left for its next block.
template <class W>
bool unpark(ThreadRecord<W>& thread, Party caller) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  for (;;) {
    bool blocked = state_of(word) == State::blocked;
    std::uint32_t next;
    if (blocked) {
      next = ready_in_hands_of(caller) | (word & kWaitMask);
    } else {
      next = word | kPermit;
    }
    // [unpark-1] release.
    if (thread.state.compare_exchange_strong(word, next, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
      return blocked;
    }
  }
}

// By the thread itself after a timeout or a signal: BLOCKED -> READY unless somebody was first.
template <class W>
bool cancel_block(ThreadRecord<W>& thread, Party self) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (state_of(word) == State::blocked) {
    if (thread.state.compare_exchange_strong(word, (word & kPermit) | ready_in_hands_of(self),
                                             std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// By the thread itself: a transition that keeps a permit.
template <class W>
void change_state(ThreadRecord<W>& thread, State state) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (!thread.state.compare_exchange_strong(
      word, with_state(word, state), std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
}

// By a thread that is EXTERNAL and goes on without a core.
template <class W>
void be_at_large(ThreadRecord<W>& thread) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (!thread.state.compare_exchange_strong(word, word | kAtLarge, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
  }
}

// By a thread that is at large, to wait in the kernel. False if it is not, or not any more.
template <class W>
bool be_external(ThreadRecord<W>& thread) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (is_at_large(word)) {
    if (thread.state.compare_exchange_strong(word, word & ~kAtLarge, std::memory_order_acq_rel,
                                             std::memory_order_relaxed))
      return true;
  }
  return false;
}

// By a thread without a core: it is READY, in its own hands, from now on.
template <class W>
void hold_ready(ThreadRecord<W>& thread, Party holder) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (!thread.state.compare_exchange_strong(
      word, (word & (kPermit | kWaitMask)) | ready_in_hands_of(holder), std::memory_order_acq_rel,
      std::memory_order_relaxed)) {
  }
}

// A READY thread goes from one holder or queue to another. False if it was not `from`'s (any more):
// somebody has overtaken the caller, and it is no concern of his.
template <class W>
bool pass_on(ThreadRecord<W>& thread, Party from, Party to) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (state_of(word) == State::ready && holder_of(word) == from) {
    if (thread.state.compare_exchange_strong(
            word, (word & (kPermit | kWaitMask)) | ready_in_hands_of(to), std::memory_order_acq_rel,
            std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// By the thread itself, in a signal handler that has interrupted its wait and is about to wait:
// until come_back it is granted no core. False if it waits for none, having one or being away
// already.
template <class W>
bool go_away(ThreadRecord<W>& thread) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while ((state_of(word) == State::blocked || state_of(word) == State::ready) && !(word & kAway)) {
    if (thread.state.compare_exchange_strong(word, word | kAway, std::memory_order_acq_rel,
                                             std::memory_order_relaxed))
      return true;
  }
  return false;
}
template <class W>
void come_back(ThreadRecord<W>& thread) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while ((word & kAway) &&
         !thread.state.compare_exchange_strong(word, word & ~kAway, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
  }
}

// By `holder`, in whose hands a READY thread is: if it is away, it is EXTERNAL from now on, and
// will find that out itself. It cannot sleep on its record then, so nobody has to wake it.
template <class W>
bool leave_out(ThreadRecord<W>& thread, Party holder) {
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  while (state_of(word) == State::ready && holder_of(word) == holder && (word & kAway)) {
    if (thread.state.compare_exchange_strong(word, with_state(word, State::external),
                                             std::memory_order_acq_rel, std::memory_order_relaxed))
      return true;
  }
  return false;
}

// By `holder`, in whose hands a READY thread is: READY -> RUNNING(core). Calls `pin` before the
// thread can run if it sleeps or waits awake; the thread pins itself otherwise (moving a running
// thread costs ten times as much).
enum class Grant {
  runs,      // it will see the grant by itself
  sleeps,    // and needs a futex wake
  lost,      // it is in the caller's hands no more: somebody has overtaken him
  left_out,  // it is away; it asks again when it is back
};
template <class W, class Pin>
Grant grant(ThreadRecord<W>& thread, CoreIndex core, Party holder, Pin&& pin) {
  bool pinned = false;
  std::uint32_t word = thread.state.load(std::memory_order_relaxed);
  for (;;) {
    if (state_of(word) != State::ready || holder_of(word) != holder) return Grant::lost;
    bool away = word & kAway, sleeping = word & kSleeping;
    if ((word & (kSleeping | kAwake)) && !away && !pinned) {
      pin();
      pinned = true;
    }
    // [grant-1] release: pairs with the acquire in the thread's wait loop.
    std::uint32_t next =
        away ? with_state(word, State::external) : (word & kPermit) | running_on(core);
    if (thread.state.compare_exchange_strong(word, next, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
      if (away) return Grant::left_out;
      return sleeping ? Grant::sleeps : Grant::runs;
    }
  }
}

// By the thread before it waits: says how (kSleeping or kAwake), unless it is RUNNING already.
// Returns the word with that set, or the RUNNING word.
template <class W>
std::uint32_t announce(ThreadRecord<W>& thread, std::uint32_t how) {
  std::uint32_t word = thread.state.load(std::memory_order_acquire);  // [grant-1]
  while (state_of(word) != State::running && !(word & how)) {
    if (thread.state.compare_exchange_strong(word, word | how, std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
      return word | how;
    }
  }
  return word;
}
template <class W>
std::uint32_t announce_sleep(ThreadRecord<W>& thread) {
  return announce(thread, kSleeping);
}
template <class W>
std::uint32_t announce_awake(ThreadRecord<W>& thread) {
  return announce(thread, kAwake);
}

}  // namespace roost

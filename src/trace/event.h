// What a trace consists of: events of 32 bytes, each of the thread that writes it.
//
// The OpenMP runtime is a library of its own, which includes this header and no other of trace/.
#pragma once

#include "base/types.h"

namespace roost::trace {

enum class Kind : std::uint8_t {
  none = 0,

  // Of the writing thread itself.
  attached = 1,   // it is managed from now on
  running = 2,    // it has `core`, and runs
  blocked = 3,    // it has left `core` (kNoCore: it had none) and waits for a wake-up
  in_kernel = 4,  // it has left `core` for a call that may wait; `a`, `b`: which one (Name)
  yielded = 5,    // it has left `core` and is READY
  ended = 6,      // it has left `core`, and Roost
  nudged = 7,     // the keeper's signal asks whether it waits
  beside = 8,     // back from a call in the kernel, it goes on without a core

  // Of the thread whose kernel ID is `a`, and of cores.
  ready = 16,    // it has been woken, and needs a core; `core` is its last one
  granted = 17,  // it is given `core`
  idle = 18,     // `core` is left free (no thread)
  rescued = 19,  // it slept unseen: `core` is taken from it
  shared = 20,   // it ran for too long: it goes on, and `core` is given to others as well

  // Of OpenMP: this and the number of OMPT's event.
  openmp = 64,
};

struct Event {
  Nanoseconds time = 0;  // set by the writer, CLOCK_MONOTONIC
  Kind kind = Kind::none;
  std::uint8_t detail = 0;  // OpenMP: the kind of region, mutex or status
  CoreIndex core = kNoCore;
  std::uint32_t value = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};
static_assert(sizeof(Event) == 32);

// In `value` of OpenMP's events that have two ends; in those of an implicit task (implicit_value)
// its number and its team's size lie above it.
inline constexpr std::uint32_t kBegins = 1;
inline constexpr std::uint32_t kEnds = 2;
constexpr std::uint32_t implicit_value(std::uint32_t endpoint, unsigned number, unsigned size) {
  constexpr unsigned kMost = 0x7fff;
  return endpoint | (number < kMost ? number : kMost) << 2 | (size < kMost ? size : kMost) << 17;
}

// A function's name in `a` and `b`, cut off at 16 bytes: an address would mean nothing to a reader.
struct Name {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};
constexpr Name packed(const char* text) {
  Name name;
  for (unsigned i = 0; text && i < 16 && text[i]; ++i) {
    std::uint64_t byte = static_cast<unsigned char>(text[i]);
    (i < 8 ? name.a : name.b) |= byte << (8 * (i % 8));
  }
  return name;
}

}  // namespace roost::trace

// Of libroost.so, for libroost_omp.so: null without it. Whether the process is recorded; and writes
// an event of the calling thread, if that has a ring.
extern "C" __attribute__((weak)) bool roost_trace_wanted();
extern "C" __attribute__((weak)) void roost_trace(const roost::trace::Event*);

// Light threads of a runtime in this process (roost.h): what is done for a thread found waiting
// where a sibling on the same OS thread could run instead.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "roost/roost.h"
#include "sched/runtime.h"

namespace roost {

// What the runtime says of the calling thread; stubs of rewritten loops test the flag
// (spin_stub.cc).
extern constinit thread_local struct roost_light own_light
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline bool is_light() { return __builtin_expect(own_light.flag, 0); }
inline bool has_light_siblings() { return __builtin_expect(own_light.flag == 2, 0); }

// Tells one wait of a light thread from the next: the place of its loop, and its registers there.
// Never 0.
inline std::uint64_t name_of_wait(std::uint64_t place,
                                  std::initializer_list<std::uint64_t> registers) {
  for (std::uint64_t value : registers) place = (place ^ value) * 0x9e3779b97f4a7c15;
  return place | 1;
}

// Lets a sibling of the calling light thread run, which waits by spinning. `at`: the name of
// its wait, or 0. False if there is none, and where threads of others wait
// for the core: when siblings have looked in vain for some rounds, as two that both wait must not
// keep it, and now and then.
bool let_light_sibling_run(std::uint64_t at = 0);

// After a look at something that others may bring, as `poll` without time is: after 256 in vain, in
// a row, a light thread lets a sibling run.
void look_of_light_thread(bool in_vain);
inline void note_look(bool in_vain) {
  if (is_light()) look_of_light_thread(in_vain);
}

// Whether the calling light thread, which yields in a loop of its program's, lets threads of the
// process that wait for its core go before its siblings. It may wait for one of those (a caller of
// OpenBLAS for the threads of its pool), and siblings that run meanwhile may come to wait for the
// same. Not every time: they may wait for a sibling. For threads with can_park().
bool lets_threads_go_first();

// Tells the runtime that the calling thread, if it is no light thread, waits by spinning.
void tell_of_spinner();

// Before the calling light thread blocks its OS thread: siblings have their turn, once.
// True if there are some that have begun and not ended.
bool let_siblings_go_first();

// A wait of the calling light thread in a call of libc's, from begin to end of the object.
// [light-1] Siblings run, and look at their own waits, before the thread parks; whatever unparks it
// is for one of them, and all look again. `deadline` and `outside` may be null, and are those of
// this wait: the thread sleeps until the earliest of all its light threads' waits.
class LightWait {
 public:
  explicit LightWait(const Deadline* deadline = nullptr, OutsideWord* outside = nullptr);
  ~LightWait();
  LightWait(const LightWait&) = delete;
  LightWait& operator=(const LightWait&) = delete;

  // Whether this wait ended by itself.
  bool timed_out() const;
  bool word_changed();
  // True when it is time to look again, false when the thread is to sleep.
  bool let_siblings_run();
  // Sleeps; then it is time to look again.
  Park park(bool interruptible);

 private:
  const Deadline* deadline_;
  OutsideWord* outside_;
  LightWait* next_;
  LightWait* previous_ = nullptr;
  bool looked_ = false;
  bool parked_ = false;
  // Whether the wait is a handler's that has interrupted the runtime: which takes long to tell.
  enum class Interrupts : std::uint8_t { unknown, no, yes } interrupts_ = Interrupts::unknown;

  bool tell(int what);
};

// Whether the address is in the runtime's own code, whose loops are its own affair.
bool in_light_runtime(std::uint64_t address);

}  // namespace roost

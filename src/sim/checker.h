// Watches a simulation and stops it at the first broken promise, with the last events. It knows
// the world only by what it is told, and never steers.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/machine.h"
#include "sim/observer.h"
#include "sim/scheduler.h"

namespace roost::sim {

// What was broken, and the events before it.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Promises {
  bool work_conserving = false;  // no core is idle while a thread is ready
  Nanoseconds longest_wait = 0;  // of a ready thread for a core; 0: no bound
  std::uint64_t most_work = 0;   // a core can execute in a nanosecond; 0: not looked at
};

// Always checked: time never runs back; a core has one thread and a thread one core; a thread is
// dispatched only when ready, and does not vanish; waiters of an object are served first come,
// first served; what a core has executed is what the thread's steps contain.
class Checker : public Observer {
 public:
  // `scheduler` is asked how many threads wait below it for a core that another shares; may be
  // null.
  Checker(CoreIndex n_cores, Promises, const Scheduler* scheduler = nullptr);

  void time(Nanoseconds) override;
  void at_rest() override;
  void started(ThreadIndex, ProcessIndex) override;
  void ready(ThreadIndex) override;
  void dispatched(CoreIndex, ThreadIndex) override;
  void taken_off(CoreIndex, ThreadIndex) override;
  void waits(ThreadIndex, bool in_kernel) override;
  void ended(ThreadIndex) override;
  void queued(ObjectId, ThreadIndex) override;
  void served(ObjectId, ThreadIndex) override;
  void executed(ThreadIndex, std::uint64_t work) override;
  void computed(ThreadIndex, std::uint64_t work) override;

  // After the run: nobody is left ready or between two states.
  void finish(bool stuck);
  // The last events, oldest first, a line each.
  std::string last_events() const;

 private:
  enum class Is : std::uint8_t { unknown, ready, running, taken_off, waiting, ended };
  struct Seen {
    Is is = Is::unknown;
    CoreIndex core = kNoCore;
    Nanoseconds since = 0;       // ready or running
    std::uint64_t executed = 0;  // since the last step
    std::uint64_t on_core = 0;   // executed since it got its core
  };
  struct Noted {
    Nanoseconds at;
    const char* what;
    ThreadIndex thread;
    CoreIndex core;
  };

  Seen& seen(ThreadIndex thread);
  void note(const char* what, ThreadIndex, CoreIndex = kNoCore);
  void become(ThreadIndex, Is);
  void check_wait(ThreadIndex) const;
  void check_pace(ThreadIndex);
  [[noreturn]] void broken(const std::string& what) const;

  static constexpr std::size_t kLast = 32;
  Promises promises_;
  const Scheduler* scheduler_;
  Nanoseconds now_ = 0;
  std::vector<ThreadIndex> cores_;
  std::vector<Seen> threads_;
  unsigned busy_ = 0;
  unsigned ready_ = 0;
  unsigned between_ = 0;  // taken off and not yet anything else
  std::uint64_t rests_ = 0;
  std::map<std::pair<ObjectKind, std::uint32_t>, std::deque<ThreadIndex>> queues_;
  std::array<Noted, kLast> last_{};
  std::uint64_t noted_ = 0;
};

}  // namespace roost::sim

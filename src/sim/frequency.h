// How fast cores run: governor, hardware and turbo ladder, set anew at fixed intervals.
//
// A physical core's frequency rises by the ramp while it is busy, up to what control and ladder
// allow; the ladder goes by the cores of the socket that were active within a window (NEST section
// 5.2: "the processor is not able to react quickly enough to the change of core activity").
#pragma once

#include <vector>

#include "sim/machine.h"

namespace roost::sim {

class Frequencies {
 public:
  Frequencies(const Machine&, Governor);

  bool fixed() const { return machine_.control == FrequencyControl::fixed; }
  std::uint32_t mhz(CoreIndex core) const { return domains_[domain_of_[core]].mhz; }

  // A core begins or ends to execute (a thread, or an idle loop that spins).
  void begins(CoreIndex, Nanoseconds now);
  void ends(CoreIndex, Nanoseconds now);
  // `used`: executes a thread; a spinning idle core does not count as use for the governor.
  void set_used(CoreIndex, bool used, Nanoseconds now);
  unsigned executing() const { return executing_; }

  // Sets all frequencies; calls changed(core) for each core whose frequency is another now, before
  // the change.
  template <class Changed>
  void update(Nanoseconds now, Changed&& changed) {
    Nanoseconds elapsed = now - last_update_;
    last_update_ = now;
    count_active(now);
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      std::uint32_t mhz = next_mhz(domains_[d], now, elapsed);
      if (mhz == domains_[d].mhz) continue;
      for (CoreIndex core : {domains_[d].core, machine_.sibling(domains_[d].core)}) {
        if (core != kNoCore) changed(core);
      }
      domains_[d].mhz = mhz;
    }
  }

 private:
  // A physical core.
  struct Domain {
    CoreIndex core;  // its first hardware thread
    unsigned socket;
    unsigned executing = 0;  // hardware threads that execute
    unsigned used = 0;       // of which threads
    Nanoseconds idle_since = 0;
    Nanoseconds used_since = 0;
    Nanoseconds used_time = 0;      // since the last update
    std::uint32_t utilisation = 0;  // 0 to 1024, half-life 32 ms (as the kernel's PELT)
    std::uint32_t mhz = 0;
    bool ever = false;
  };

  void count_active(Nanoseconds now);
  std::uint32_t next_mhz(Domain&, Nanoseconds now, Nanoseconds elapsed);
  std::uint32_t floor_mhz() const {
    return governor_ == Governor::performance ? machine_.nominal_mhz : machine_.min_mhz;
  }

  const Machine& machine_;
  Governor governor_;
  std::vector<std::uint32_t> domain_of_;
  std::vector<Domain> domains_;
  std::vector<unsigned> active_;  // by socket
  unsigned executing_ = 0;
  Nanoseconds last_update_ = 0;
};

}  // namespace roost::sim

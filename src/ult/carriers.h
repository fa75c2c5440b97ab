// All carriers of the process, and the mail of workers.
#pragma once

#include "ult/carrier.h"

namespace roost::ult {

inline constexpr unsigned kMaxCarriers = 16384;

// Carriers are never taken off the table: one whose thread has ended waits there for the next.
unsigned carriers_count();
Carrier* carrier_at(unsigned index);
unsigned workers_count();

// Carriers that sleep or are about to. [open-1] Counted before a carrier looks for open batches the
// last time; whoever opens one looks at this afterwards.
extern constinit std::atomic<unsigned> sleeping_carriers;

// The word in which calls are sent to a worker: a batch and the number of the call.
struct Mail {
  static constexpr std::uint64_t kBusy = 0;
  static constexpr std::uint64_t kListening = 1;
  static constexpr std::uint64_t kRunning = 2;  // with the call that was sent, until it is over
  static constexpr std::uint64_t kLeaving = 3;  // dismissed: its thread ends
  static constexpr unsigned kCallShift = 48;

  explicit Mail(std::uint64_t value) : word(value) {}
  Mail(Batch* batch, unsigned call)
      : word(reinterpret_cast<std::uint64_t>(batch) | std::uint64_t{call} << kCallShift) {}
  bool is_call() const { return word > kListening && !(word & kRunning); }
  bool runs_call_of(const Batch& batch) const { return word & kRunning && this->batch() == &batch; }
  Batch* batch() const {
    return reinterpret_cast<Batch*>(word & ((std::uint64_t{1} << kCallShift) - 1) & ~kRunning);
  }
  unsigned call() const { return static_cast<unsigned>(word >> kCallShift); }

  std::uint64_t word;
};

// What a worker's thread does until it is dismissed. Its root strand never waits in a list while it
// listens.
void work(Carrier& carrier);

}  // namespace roost::ult

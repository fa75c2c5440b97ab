// A user's policy in C (roost/policy.h) as the ledger sees it: the adapter between the two forms of
// the contract.
//
// It checks the table once, and every answer of a callback: what cannot be followed is replaced by
// the default, and the first such answer is kept as a sentence. Built-in policies do not pass
// through here. Which object a table comes from is the affair of sched/policy_file.h.
#pragma once

#include <roost/policy.h>

#include <atomic>
#include <cstddef>

#include "base/text.h"
#include "policy/policy.h"
#include "segment/header.h"

namespace roost {

using PolicyTable = struct ::roost_policy;

class PlugIn {
 public:
  // Makes a policy of `table`, of which `bytes` are there. False, with what is wrong in a sentence,
  // if it is none. The table must stay, and the PlugIn where it is.
  bool adopt(const PolicyTable& table, std::size_t bytes, ErrorText& error);

  const Policy& policy() const { return policy_; }
  const PolicyTable& table() const { return *table_; }

  // The first answer that was not followed, as a sentence; null if all were good. Any thread.
  const char* fault() const {
    return state_.load(std::memory_order_acquire) == written ? fault_.c_str() : nullptr;
  }
  void forget_fault() const;
  // By the adapter: `describe(text)` writes the sentence if it is the first.
  template <class Describe>
  void note(Describe&& describe) const {
    if (state_.load(std::memory_order_relaxed) != none ||
        state_.exchange(writing, std::memory_order_acq_rel) != none)
      return;
    describe(fault_);
    state_.store(written, std::memory_order_release);
    tell(*this);
  }
  // Called with the first fault of a plug-in by the thread that met it, inside the scheduler: it
  // may not wait.
  static void (*tell)(const PlugIn&);

 private:
  enum State : std::uint32_t { none, writing, written };

  const PolicyTable* table_ = nullptr;
  Policy policy_{};
  PolicyParameter parameters_[kMaxParameters] = {};
  mutable ErrorText fault_;
  mutable std::atomic<std::uint32_t> state_{none};
};

// The plug-in behind a policy; null if it is built in.
inline const PlugIn* plug_in_of(const Policy& policy) {
  return static_cast<const PlugIn*>(policy.data);
}

}  // namespace roost

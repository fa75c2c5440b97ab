// The whole contract of a scheduling policy (docs/DESIGN "Policies"; USF section 4.1 for the
// default).
//
// A policy decides, the ledger (sched/ledger.h) acts. Callbacks run inside the scheduler of
// whatever process is passing a scheduling point, possibly under a core's queue lock: they may not
// block, allocate, read a clock, touch atomics or keep state outside the words they are handed. The
// same code runs in every process of an instance, in the simulator and under the model checker.
//
// Users' policies have the same contract in C (include/roost/policy.h, policy/plug_in.h).
#pragma once

#include <roost/policy.h>

#include <cstdint>

#include "base/types.h"
#include "segment/records.h"

namespace roost {

// A number a user can set: `roost run --set name=value`.
using PolicyParameter = ::roost_policy_parameter;

// What every callback may look at.
struct PolicyContext {
  Nanoseconds now;
  const std::uint64_t* parameters;  // in the order of the policy's table
  const CoreInfo* cores;
  CoreIndex n_cores;
  const void* data;  // Policy::data
};

// The READY queues of one core, seen under that core's lock.
class QueueView {
 public:
  QueueView(const std::uint64_t* ready, const Fifo* fifos, unsigned n_processes)
      : ready_(ready), fifos_(fifos), n_processes_(n_processes) {}

  bool has(ProcessIndex p) const { return p < n_processes_ && (ready_[p / 64] >> (p % 64) & 1); }
  // At least 1 for a process that is offered though its thread waits elsewhere.
  std::uint32_t length(ProcessIndex p) const {
    return fifos_[p].length ? fifos_[p].length : std::uint32_t{has(p)};
  }

  // The first process after `p`, cyclically, that has READY threads here; `p` itself comes last.
  // `among`: only those whose index modulo 64 is the number of a bit set there.
  ProcessIndex next_after(ProcessIndex p, std::uint64_t among = ~0ull) const {
    unsigned start = p < n_processes_ ? p + 1u : 0;
    for (unsigned step = 0; step <= kProcessWords; ++step) {
      unsigned word = (start / 64 + step) % kProcessWords;
      std::uint64_t bits = ready_[word] & among;
      if (step == 0) bits &= ~0ull << (start % 64);
      if (bits)
        return static_cast<ProcessIndex>(word * 64 + static_cast<unsigned>(__builtin_ctzll(bits)));
    }
    return kNoProcess;
  }

 private:
  const std::uint64_t* ready_;
  const Fifo* fifos_;
  unsigned n_processes_;
};

// The cores as a policy sees them. Any process may change what is seen at any time; only a claim is
// sure.
class CoreView {
 public:
  // How the ledger answers, for each World.
  struct Answers {
    bool (*claim)(void* ledger, CoreIndex);
    CoreIndex (*next_idle)(void* ledger, CoreIndex first, CoreIndex end);
    std::uint32_t (*queued)(void* ledger, CoreIndex);
    std::uint64_t (*word)(void* ledger, CoreIndex);
    bool (*change_word)(void* ledger, CoreIndex, std::uint64_t from, std::uint64_t to);
  };
  CoreView(void* ledger, const Answers& answers) : ledger_(ledger), answers_(answers) {}

  // Takes `core` if it is idle: nobody else places a thread there from then on. For Policy::place
  // alone: whoever succeeds must return that core.
  bool claim(CoreIndex core) { return answers_.claim(ledger_, core); }
  // The first idle core of first .. end-1, kNoCore if there is none.
  CoreIndex next_idle(CoreIndex first, CoreIndex end) {
    return answers_.next_idle(ledger_, first, end);
  }
  // How many READY threads wait in the queue of `core`.
  std::uint32_t queued(CoreIndex core) { return answers_.queued(ledger_, core); }
  // A word of the policy's for each core, 0 to begin with, that all processes see; it changes only
  // from a value that the caller has seen. False if somebody was faster.
  std::uint64_t word(CoreIndex core) { return answers_.word(ledger_, core); }
  bool change_word(CoreIndex core, std::uint64_t from, std::uint64_t to) {
    return answers_.change_word(ledger_, core, from, to);
  }

 private:
  void* ledger_;
  const Answers& answers_;
};

struct Policy {
  const char* name;
  const char* summary;  // one sentence
  const PolicyParameter* parameters;
  unsigned n_parameters;
  std::uint64_t layout;  // changes whenever the meaning of policy_words changes

  // A thread became READY: the core it should run on, or wait for if nothing is free.
  CoreIndex (*thread_ready)(const PolicyContext&, CoreIndex last_core, std::uint64_t* thread_words,
                            CoreView&);

  // `core` looks for work in the queues of `from` (its own first, then its NUMA node's, then
  // anywhere): the process whose oldest thread it takes, or kNoProcess for none. `core_words` are
  // those of `core`.
  ProcessIndex (*core_free)(const PolicyContext&, CoreIndex core, CoreIndex from,
                            std::uint64_t* core_words, const QueueView&);

  // A thread of `process` got `core`. `core_words` as above.
  void (*thread_granted)(const PolicyContext&, CoreIndex core, ProcessIndex process,
                         std::uint64_t* core_words);

  // The rest may be null.

  // A thread became READY: an idle core that the policy has claimed for it, or kNoCore. Without
  // this callback, and after kNoCore, the ledger looks near what thread_ready says.
  CoreIndex (*place)(const PolicyContext&, CoreIndex last_core, std::uint64_t* thread_words,
                     CoreView&) = nullptr;

  // A thread gets `core`, and ran on `last_core` before.
  void (*thread_moves)(const PolicyContext&, CoreIndex core, CoreIndex last_core,
                       std::uint64_t* thread_words) = nullptr;

  // `core` is about to become idle: the thread that leaves it blocks or, if `ended`, is no more.
  void (*core_idle)(const PolicyContext&, CoreIndex core, bool ended, std::uint64_t* core_words,
                    CoreView&) = nullptr;

  // A core that spins before it sleeps stops as soon as its other hardware thread gets a thread.
  bool spin_ends_with_sibling = false;

  // The policy's own, handed to its callbacks in PolicyContext.
  const void* data = nullptr;
};

// All built-in policies, ended by null.
extern const Policy* const kPolicies[];

// By name; null if there is none.
const Policy* find_policy(const char* name);

// Index of a parameter in the policy's table, -1 if there is none.
int find_parameter(const Policy&, const char* name);

}  // namespace roost

// Dependences between sibling tasks: which tasks of one parent must be complete before which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/ompt.h"
#include "omp/task.h"

namespace roost::omp {

// Members of `mutexinoutset` exclude each other by their order of creation, as those of `inout`.
enum class DependKind : std::uint8_t { in, inout, inoutset };

struct Dependence {
  const void* address = nullptr;
  DependKind kind = DependKind::inout;
  bool all_memory = false;  // omp_all_memory: as inout on every address
  ompt::DependenceKind said = ompt::DependenceKind::inout;  // by the clause, for a tool
};

// The dependences of a construct, in whatever form the compiler gives them.
class Dependences {
 public:
  virtual std::size_t count() const = 0;
  virtual Dependence at(std::size_t index) const = 0;

 protected:
  ~Dependences() = default;
};

// Gives a new task of the member's current one its dependences. True if it may be executed at once;
// else whoever completes the last task it waits for queues it. Before it is submitted otherwise,
// and after it is counted.
bool enter_dependences(Member& member, ExplicitTask& task, const Dependences& dependences);

// Waits until a construct with these dependences may go on (undeferred tasks, taskwait depend).
void wait_for_dependences(Member& member, const Dependences& dependences);

// A taskwait construct with dependences.
inline void taskwait_for(Member& member, const Dependences& dependences) {
  ompt::TaskwaitTask task(member, dependences);
  ompt::SyncRegion region(member, ompt::Sync::taskwait);
  wait_for_dependences(member, dependences);
}

// A complete task lets go those that waited for it. `executor`: the member that executed it, or
// null.
void release_dependents(ExplicitTask& task, Member* executor);

// Drops what is remembered of the task's children, when it creates no more, or all are complete.
void forget_dependences(Task& task);

}  // namespace roost::omp

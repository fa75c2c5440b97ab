// Tasks: the implicit one of each member of a team, and explicit ones.
#pragma once

#include <atomic>
#include <cstdint>

#include "omp/icv.h"
#include "ult/carrier.h"

namespace roost::omp {

struct Member;
struct Team;
struct TaskGroup;
struct DependTable;

// What implicit and explicit tasks have in common: a data environment, and children.
struct Task {
  Icvs icvs;
  Team* team = nullptr;
  Task* parent = nullptr;          // the task that created it; null: initial, or its parent is over
  TaskGroup* group = nullptr;      // the innermost taskgroup it is in (its own regions)
  DependTable* depends = nullptr;  // addresses its children depend on
  // Children that are not complete.
  std::atomic<std::uint32_t> children{0};
  ult::WaitList childless;  // taskwait: woken when `children` gets zero
  bool implicit = true;
  bool final_ = false;
  bool undeferred = false;  // in the execution of an if(0) or final task
};

}  // namespace roost::omp

// What tasks, members and teams keep for a tool. Used only while one is active (omp/ompt.h).
#pragma once

#include "omp/ompt_abi.h"

namespace roost::omp {
struct Task;
}

namespace roost::omp::ompt {

struct TaskState {
  Data data;
  union {
    Frame frame;
    DispatchChunk chunk;  // before it begins: of a taskloop's; no iterations: it is none
  };
  Task* below;  // on whose stack it is executed; explicit tasks alone
};

struct MemberState {
  const void* code = nullptr;  // where in the program it called the library
  std::uint64_t wait_id = 0;   // the mutex it waits for
  State state = State::work_serial;
  Work work = Work::none;  // the worksharing region it is in
  std::uint64_t work_count = 0;
  bool yields = false;            // it is in a taskyield
  DispatchChunk next_chunk = {};  // of the taskloop's task that it creates next
};

struct TeamState {
  Data own = {};
  Data* parallel = nullptr;  // of its parallel region, `own`; null: it began without the tool
  // Of its initial task, if it is a league of a teams construct.
  Data initial = {};
  Frame initial_frame = {};
  const void* code = nullptr;  // where in the program its region begins
  int flags = 0;
};

}  // namespace roost::omp::ompt

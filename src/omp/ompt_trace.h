// OMPT's events as those of a trace (`roost run --trace`), beside a tool or without one.
//
// There is one function for each type of callback: what a tool is called with is what is recorded.
// The events go into the calling thread's ring, in libroost.so (trace/event.h).
#pragma once

#include "omp/ompt_state.h"
#include "trace/event.h"

namespace roost::omp::ompt {

// Set before the activity is found out (omp/ompt_start.cc). A process that is recorded stays so.
extern constinit bool tracing;

constexpr bool is_traced(Event event) {
  return event != Event::control_tool && event != Event::error && event != Event::dependences &&
         event != Event::thread_begin && event != Event::thread_end;
}

namespace traced {
void tell(Event, Data* task, const Frame*, Data* parallel, unsigned requested, int flags,
          const void*);
void tell(Event, Data* parallel, Data* task, int flags, const void*);
void tell(Event, Endpoint, Data* parallel, Data* task, unsigned size, unsigned index, int flags);
void tell(Event, Data* creator, const Frame*, Data* task, int flags, int has_dependences,
          const void*);
void tell(Event, Data* prior, TaskStatus, Data* next);
void tell(Event, Data* source, Data* sink);
void tell(Event, Work, Endpoint, Data* parallel, Data* task, std::uint64_t count, const void*);
void tell(Event, Data* parallel, Data* task, Dispatch, Data instance);
void tell(Event, Endpoint, Data* parallel, Data* task, const void*);
void tell(Event, Sync, Endpoint, Data* parallel, Data* task, const void*);
void tell(Event, Mutex, unsigned hint, unsigned implementation, std::uint64_t wait_id, const void*);
void tell(Event, Mutex, std::uint64_t wait_id, const void*);
void tell(Event, Endpoint, std::uint64_t wait_id, const void*);
void tell(Event, Data* thread, const void*);
void tell(Event, Data* task, int flags, const void*);
// Those that are not traced.
template <class... Arguments>
void tell(Event, Arguments...) {}
}  // namespace traced

}  // namespace roost::omp::ompt

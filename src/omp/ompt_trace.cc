// Writes OMPT's events into the trace.
#include "omp/ompt_trace.h"

#include "omp/ompt_callbacks.h"

namespace roost::omp::ompt {

constinit bool tracing = false;

namespace {

// The word of a region or task has its number, from the first event that names it. A tool has the
// word for itself: then its address has to do, which is another's once it has ended.
std::uint64_t id_of(Data* data) {
  if (!data) return 0;
  if (has_tool()) return reinterpret_cast<std::uintptr_t>(data);
  if (data->value == 0) data->value = unique_id();
  return data->value;
}

std::uint32_t ends_of(Endpoint endpoint) {
  static_assert(static_cast<int>(Endpoint::begin) == trace::kBegins &&
                static_cast<int>(Endpoint::end) == trace::kEnds);
  return static_cast<std::uint32_t>(endpoint);
}

// `detail` and `value` say what the type of callback does (cli/trace_openmp.cc reads them).
void write(Event event, std::uint64_t a, std::uint64_t b, unsigned detail = 0,
           std::uint64_t value = 0) {
  trace::Event out;
  out.kind = static_cast<trace::Kind>(static_cast<unsigned>(trace::Kind::openmp) +
                                      static_cast<unsigned>(event));
  out.detail = static_cast<std::uint8_t>(detail);
  out.value = static_cast<std::uint32_t>(value);
  out.a = a;
  out.b = b;
  roost_trace(&out);
}

unsigned is_league(int flags) { return (flags & kLeague) != 0; }

}  // namespace

namespace traced {

void tell(Event event, Data* task, const Frame*, Data* parallel, unsigned requested, int flags,
          const void*) {
  write(event, id_of(task), id_of(parallel), is_league(flags), requested);
}
void tell(Event event, Data* parallel, Data* task, int flags, const void*) {
  write(event, id_of(task), id_of(parallel), is_league(flags));
}
void tell(Event event, Endpoint endpoint, Data* parallel, Data* task, unsigned size, unsigned index,
          int flags) {
  write(event, id_of(parallel), id_of(task), (flags & kInitialTask) != 0,
        trace::implicit_value(ends_of(endpoint), index, size));
}
void tell(Event event, Data* creator, const Frame*, Data* task, int flags, int, const void*) {
  write(event, id_of(creator), id_of(task), 0, static_cast<std::uint32_t>(flags));
}
void tell(Event event, Data* prior, TaskStatus status, Data* next) {
  write(event, id_of(prior), id_of(next), static_cast<unsigned>(status));
}
void tell(Event event, Data* source, Data* sink) { write(event, id_of(source), id_of(sink)); }
void tell(Event event, Work work, Endpoint endpoint, Data*, Data* task, std::uint64_t count,
          const void*) {
  write(event, count, id_of(task), static_cast<unsigned>(work), ends_of(endpoint));
}
void tell(Event event, Data*, Data*, Dispatch kind, Data instance) {
  DispatchChunk chunk = {};
  if (kind != Dispatch::section) chunk = *static_cast<const DispatchChunk*>(instance.ptr);
  write(event, chunk.start, chunk.iterations, static_cast<unsigned>(kind));
}
void tell(Event event, Endpoint endpoint, Data* parallel, Data* task, const void*) {
  write(event, id_of(parallel), id_of(task), 0, ends_of(endpoint));
}
void tell(Event event, Sync kind, Endpoint endpoint, Data* parallel, Data* task, const void*) {
  write(event, id_of(parallel), id_of(task), static_cast<unsigned>(kind), ends_of(endpoint));
}
void tell(Event event, Mutex kind, unsigned, unsigned, std::uint64_t wait_id, const void*) {
  write(event, wait_id, 0, static_cast<unsigned>(kind));
}
void tell(Event event, Mutex kind, std::uint64_t wait_id, const void*) {
  write(event, wait_id, 0, static_cast<unsigned>(kind));
}
void tell(Event event, Endpoint endpoint, std::uint64_t wait_id, const void*) {
  write(event, wait_id, 0, 0, ends_of(endpoint));
}
void tell(Event event, Data*, const void*) { write(event, 0, 0); }
void tell(Event event, Data* task, int flags, const void*) {
  write(event, 0, id_of(task), 0, static_cast<std::uint32_t>(flags));
}

}  // namespace traced
}  // namespace roost::omp::ompt

// GCC's entry points: doacross loops (ordered(n) with depend(source) and depend(sink)). The loop is
// over the numbers of the outermost dimension's iterations (the collapsed ones are one dimension).
#include <cstdarg>

#include "omp/doacross.h"
#include "omp/gomp_loop.h"

namespace roost::omp {
namespace {

template <class T>
bool begin_gomp_doacross(unsigned n_dimensions, const T* iterations, long schedule,
                         std::uint64_t chunk, T* low, T* high, std::uintptr_t* reductions = nullptr,
                         void** memory = nullptr) {
  Member& member = self();
  LoopPlan plan;
  plan.end = plan.trip = static_cast<std::uint64_t>(iterations[0]);
  set_gomp_schedule(plan, schedule, chunk);
  // Progress needs a slot under any schedule. It is left when the member has no iterations left,
  // except where it holds memory.
  plan.shares = reductions || memory;
  plan.progress = true;
  begin_loop(member, plan);
  if (!member.loop.workshare && plan.shares) begin_shared(member, reductions, memory);  // cancelled
  if (member.loop.workshare) begin_doacross(member, n_dimensions, iterations, reductions, memory);
  if (!low) return true;
  return next_chunk(member) && give_chunk(member, low, high);
}

std::uint64_t positive(long chunk) { return chunk > 0 ? static_cast<std::uint64_t>(chunk) : 0; }

// Indices as a variadic call passes them. They are read one after the other.
constexpr unsigned kMostDimensions = 64;

template <class T>
void wait_for_listed(T first, va_list list) {
  Member& member = self();
  if (!member.loop.doacross) return;
  unsigned n = member.loop.doacross->doacross.n_dimensions;
  std::uint64_t index[kMostDimensions];
  if (n > kMostDimensions) ult::out_of_memory("a doacross loop of more than 64 dimensions");
  index[0] = static_cast<std::uint64_t>(first);
  for (unsigned d = 1; d < n; ++d) index[d] = static_cast<std::uint64_t>(va_arg(list, T));
  wait_for(member, [&](unsigned d) { return index[d]; });
}

}  // namespace

extern "C" {

#define GOMP_DOACROSS(name, schedule)                                                             \
  ROOST_EXPORT bool GOMP_loop_doacross_##name##_start(unsigned n_dimensions, long* iterations,    \
                                                      long chunk, long* low, long* high) {        \
    return begin_gomp_doacross(n_dimensions, iterations, schedule, positive(chunk), low, high);   \
  }                                                                                               \
  ROOST_EXPORT bool GOMP_loop_ull_doacross_##name##_start(unsigned n_dimensions, Ull* iterations, \
                                                          Ull chunk, Ull* low, Ull* high) {       \
    return begin_gomp_doacross(n_dimensions, iterations, schedule, chunk, low, high);             \
  }

GOMP_DOACROSS(static, kGompStatic)
GOMP_DOACROSS(dynamic, kGompDynamic)
GOMP_DOACROSS(guided, kGompGuided)

ROOST_EXPORT bool GOMP_loop_doacross_runtime_start(unsigned n_dimensions, long* iterations,
                                                   long* low, long* high) {
  return begin_gomp_doacross(n_dimensions, iterations, kGompRuntime, 0, low, high);
}
ROOST_EXPORT bool GOMP_loop_ull_doacross_runtime_start(unsigned n_dimensions, Ull* iterations,
                                                       Ull* low, Ull* high) {
  return begin_gomp_doacross(n_dimensions, iterations, kGompRuntime, 0, low, high);
}

ROOST_EXPORT bool GOMP_loop_doacross_start(unsigned n_dimensions, long* iterations, long schedule,
                                           long chunk, long* low, long* high,
                                           std::uintptr_t* reductions, void** memory) {
  return begin_gomp_doacross(n_dimensions, iterations, schedule, positive(chunk), low, high,
                             reductions, memory);
}
ROOST_EXPORT bool GOMP_loop_ull_doacross_start(unsigned n_dimensions, Ull* iterations,
                                               long schedule, Ull chunk, Ull* low, Ull* high,
                                               std::uintptr_t* reductions, void** memory) {
  return begin_gomp_doacross(n_dimensions, iterations, schedule, chunk, low, high, reductions,
                             memory);
}

ROOST_EXPORT void GOMP_doacross_post(long* index) {
  post(self(), [&](unsigned d) { return static_cast<std::uint64_t>(index[d]); });
}
ROOST_EXPORT void GOMP_doacross_ull_post(Ull* index) {
  post(self(), [&](unsigned d) -> std::uint64_t { return index[d]; });
}
ROOST_EXPORT void GOMP_doacross_wait(long first, ...) {
  va_list list;
  va_start(list, first);
  wait_for_listed(first, list);
  va_end(list);
}
ROOST_EXPORT void GOMP_doacross_ull_wait(Ull first, ...) {
  va_list list;
  va_start(list, first);
  wait_for_listed(first, list);
  va_end(list);
}

}  // extern "C"
}  // namespace roost::omp

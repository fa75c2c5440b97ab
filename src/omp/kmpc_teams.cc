// LLVM's entry points for teams constructs. Clang calls target regions directly where there is no
// device, so there is nothing of them here.
#include <cstdarg>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/league.h"

namespace roost::omp {
namespace {

// What the push calls said of the construct that follows at once.
struct Pushed {
  std::uint32_t teams = 0;
  std::uint32_t thread_limit = 0;
};
constinit thread_local Pushed pushed;

struct Call {
  Microtask function;
  int count;
  void** arguments;
};
void run_league(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  std::int32_t gtid = self().gtid;
  std::int32_t bound = 0;
  call_microtask(call.function, &gtid, &bound, call.count, call.arguments);
}

std::uint32_t positive(std::int32_t value) {
  return value > 0 ? static_cast<std::uint32_t>(value) : 0;
}

}  // namespace

extern "C" {

ROOST_EXPORT void __kmpc_push_num_teams(Ident*, std::int32_t, std::int32_t teams,
                                        std::int32_t threads) {
  pushed = {positive(teams), positive(threads)};
}
// Between a lower and an upper bound.
ROOST_EXPORT void __kmpc_push_num_teams_51(Ident*, std::int32_t, std::int32_t low,
                                           std::int32_t high, std::int32_t threads) {
  pushed = {positive(high > low ? high : low), positive(threads)};
}

ROOST_EXPORT void __kmpc_fork_teams(Ident*, std::int32_t count, Microtask function, ...) {
  if (count > kMaxArguments) __builtin_trap();
  void* arguments[kMaxArguments];
  va_list list;
  va_start(list, function);
  for (int i = 0; i < count; ++i) arguments[i] = va_arg(list, void*);
  va_end(list);
  ompt::Entry entry;
  self();  // the environment has been read
  Call call{function, count, arguments};
  League league;
  league.size = leagues_for(pushed.teams);
  league.thread_limit = league_thread_limit(pushed.thread_limit);
  pushed = {};
  run_leagues(league, run_league, &call);
}

// target thread_limit(n), in the initial task of the region (clang 17).
ROOST_EXPORT void __kmpc_set_thread_limit(Ident*, std::int32_t, std::int32_t limit) {
  if (limit > 0) self().task->icvs.thread_limit = limit;
}
// Hints for devices.
ROOST_EXPORT void __kmpc_push_target_tripcount(Ident*, std::int64_t, std::uint64_t) {}
ROOST_EXPORT void __kmpc_push_target_tripcount_mapper(Ident*, std::int64_t, std::uint64_t) {}
// What libomptarget asks: whether the current task may be suspended while a device works for it.
// The host alone has tasks here.
ROOST_EXPORT bool __kmpc_omp_has_task_team(std::int32_t) { return false; }
ROOST_EXPORT void** __kmpc_omp_get_target_async_handle_ptr(std::int32_t) { return nullptr; }
// The same: disabled, default, mandatory.
ROOST_EXPORT int __kmpc_get_target_offload() {
  switch (settings().offload.load(std::memory_order_relaxed)) {
    case Settings::Offload::disabled:
      return 0;
    case Settings::Offload::mandatory:
      return 2;
    default:
      return 1;
  }
}

}  // extern "C"
}  // namespace roost::omp

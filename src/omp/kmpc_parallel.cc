// LLVM's entry points: parallel regions, barriers and critical sections.
#include <cstdarg>
#include <utility>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/lock_events.h"
#include "omp/team.h"
#include "omp/threads_clause.h"

namespace roost::omp {
namespace {

template <std::size_t... index>
void call(Microtask function, std::int32_t* gtid, std::int32_t* bound, void** arguments,
          std::index_sequence<index...>) {
  ompt::UserCode code;
  function(gtid, bound, arguments[index]...);
}
template <std::size_t count>
void call_with(Microtask function, std::int32_t* gtid, std::int32_t* bound, void** arguments) {
  call(function, gtid, bound, arguments, std::make_index_sequence<count>());
}
using Caller = void (*)(Microtask, std::int32_t*, std::int32_t*, void**);
template <std::size_t... count>
constexpr auto callers(std::index_sequence<count...>) {
  struct Table {
    Caller of[sizeof...(count)];
  };
  return Table{{call_with<count>...}};
}
constinit const auto kCallers = callers(std::make_index_sequence<kMaxArguments + 1>());

void invoke_microtask(Team& team, Member& member) {
  std::int32_t gtid = member.gtid;
  auto bound = static_cast<std::int32_t>(member.number);
  call_microtask(reinterpret_cast<Microtask>(team.region.function), &gtid, &bound,
                 static_cast<int>(team.region.n_arguments), team.region.arguments);
}

void fork(Microtask function, int count, void** arguments, unsigned threads) {
  Member& opener = self();
  Region region;
  region.invoke = invoke_microtask;
  region.function = reinterpret_cast<void*>(function);
  region.arguments = arguments;
  region.n_arguments = static_cast<unsigned>(count);
  region.threads = threads ? threads : opener.pushed_threads;
  opener.pushed_threads = 0;
  region.bind = std::exchange(opener.pushed_bind, Bind::no);
  ThreadsClause* clause = opener.pushed_clause;
  opener.pushed_clause = nullptr;
  if (!threads) region.clause = clause;
  parallel(region);
  if (__builtin_expect(clause != nullptr, 0)) give_clause(clause);
}

unsigned positive(std::int32_t threads) { return threads > 0 ? static_cast<unsigned>(threads) : 0; }

void push_list(Member& member, std::uint32_t count, const std::int32_t* list, int severity,
               const char* message) {
  if (!count) return;
  member.pushed_threads = positive(list[0]);
  push_clause(member, list, count, severity, message);
}

// Which barrier the compiler means.
ompt::Sync barrier_kind(const Ident* where) {
  constexpr std::int32_t kExplicit = 0x20, kEndOfConstruct = 0x40;
  if (where && where->flags & kExplicit) return ompt::Sync::barrier_explicit;
  if (where && where->flags & kEndOfConstruct) return ompt::Sync::barrier_implicit_workshare;
  return ompt::Sync::barrier_implementation;
}

}  // namespace

void call_microtask(Microtask function, std::int32_t* gtid, std::int32_t* bound_tid, int count,
                    void** arguments) {
  kCallers.of[count](function, gtid, bound_tid, arguments);
}

extern "C" {

ROOST_EXPORT std::int32_t __kmpc_global_thread_num(Ident*) { return self().gtid; }
ROOST_EXPORT std::int32_t __kmpc_global_num_threads(Ident*) {
  return static_cast<std::int32_t>(gtids());
}
ROOST_EXPORT std::int32_t __kmpc_bound_thread_num(Ident*) {
  return static_cast<std::int32_t>(self().number);
}
ROOST_EXPORT std::int32_t __kmpc_bound_num_threads(Ident*) {
  return static_cast<std::int32_t>(self().team->size);
}

ROOST_EXPORT void __kmpc_push_num_threads(Ident*, std::int32_t, std::int32_t threads) {
  self().pushed_threads = positive(threads);
}
// OpenMP 6.0: a list (LLVM 20), and the modifier strict, whose severity is 1 for a warning.
ROOST_EXPORT void __kmpc_push_num_threads_strict(Ident*, std::int32_t, std::int32_t threads,
                                                 int severity, const char* message) {
  Member& member = self();
  member.pushed_threads = positive(threads);
  push_clause(member, nullptr, 0, severity, message);
}
ROOST_EXPORT void __kmpc_push_num_threads_list(Ident*, std::int32_t, std::uint32_t count,
                                               const std::int32_t* list) {
  push_list(self(), count, list, 0, nullptr);
}
ROOST_EXPORT void __kmpc_push_num_threads_list_strict(Ident*, std::int32_t, std::uint32_t count,
                                                      const std::int32_t* list, int severity,
                                                      const char* message) {
  push_list(self(), count, list, severity, message);
}
// It changes no control variable, as in libomp. Clang has another number for `primary` than for its
// older name.
ROOST_EXPORT void __kmpc_push_proc_bind(Ident*, std::int32_t, int bind) {
  constexpr int kPrimary = 5;
  if (bind == kPrimary) bind = static_cast<int>(Bind::primary);
  if (bind >= 0 && bind <= static_cast<int>(Bind::spread))
    self().pushed_bind = static_cast<Bind>(bind);
}

ROOST_EXPORT void __kmpc_fork_call(Ident*, std::int32_t count, Microtask function, ...) {
  if (count > kMaxArguments) __builtin_trap();
  void* arguments[kMaxArguments];
  va_list list;
  va_start(list, function);
  for (int i = 0; i < count; ++i) arguments[i] = va_arg(list, void*);
  va_end(list);
  ompt::Entry entry;
  fork(function, count, arguments, 0);
}
// With the condition of an if clause (clang 16); one argument, which may be null.
ROOST_EXPORT void __kmpc_fork_call_if(Ident*, std::int32_t count, Microtask function,
                                      std::int32_t condition, void* argument) {
  ompt::Entry entry;
  fork(function, count, &argument, condition ? 0 : 1);
}

// A region the if clause made serial: the caller runs the outlined function between the two.
ROOST_EXPORT void __kmpc_serialized_parallel(Ident*, std::int32_t) {
  ompt::Entry entry;
  Member& opener = self();
  opener.pushed_threads = 0;
  opener.pushed_bind = Bind::no;
  drop_clause(opener);
  begin_region(serial_region());
  entry.stay();
}
ROOST_EXPORT void __kmpc_end_serialized_parallel(Ident*, std::int32_t) {
  ompt::Entry entry;
  end_region();
}

ROOST_EXPORT void __kmpc_barrier(Ident* where, std::int32_t) {
  ompt::Entry entry;
  team_barrier(self(), barrier_kind(where));
}
ROOST_EXPORT std::int32_t __kmpc_cancel_barrier(Ident* where, std::int32_t) {
  ompt::Entry entry;
  return team_barrier(self(), barrier_kind(where));
}

// `words`: eight pointers, zero at first, for the runtime's use.
ROOST_EXPORT void __kmpc_critical(Ident*, std::int32_t, void* words) {
  ompt::Entry entry;
  acquire_as(ompt::Mutex::critical, *static_cast<Lock*>(words));
}
ROOST_EXPORT void __kmpc_critical_with_hint(Ident*, std::int32_t, void* words, std::uint32_t) {
  ompt::Entry entry;
  acquire_as(ompt::Mutex::critical, *static_cast<Lock*>(words));
}
ROOST_EXPORT void __kmpc_end_critical(Ident*, std::int32_t, void* words) {
  ompt::Entry entry;
  release_as(ompt::Mutex::critical, *static_cast<Lock*>(words));
}

// A fence, and a moment for others: programs wait in loops around it.
ROOST_EXPORT void __kmpc_flush(Ident*) {
  RealWorld::fence();
  ompt::flush();
}

}  // extern "C"
}  // namespace roost::omp

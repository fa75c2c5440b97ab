// What a num_threads clause keeps for the next region: its values by level and how strict they are.
#include "omp/threads_clause.h"

#include <cstdlib>

#include "base/text.h"
#include "omp/task_memory.h"
#include "omp/team.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

constexpr int kFatal = 2;

std::size_t bytes_of(std::uint32_t count) {
  return sizeof(ThreadsClause) + count * sizeof(std::uint32_t);
}

std::uint32_t positive(std::int32_t value) {
  return value > 0 ? static_cast<std::uint32_t>(value) : 1;
}

void complain(const ThreadsClause& clause, unsigned wanted, unsigned size) {
  Text<1024> text("roost: ");
  text << (clause.severity == kFatal ? "error: " : "warning: ");
  if (clause.message) {
    text << clause.message << " (";
  }
  text << "a parallel region asks for " << wanted << " threads strictly, and gets " << size;
  text << (clause.message ? ")\n" : "\n");
  ult::kernel::write_error(text.c_str(), text.length());
  if (clause.severity == kFatal) std::exit(1);
}

}  // namespace

void push_clause(Member& member, const std::int32_t* values, std::uint32_t count, int severity,
                 const char* message) {
  drop_clause(member);
  auto* clause = take_others<ThreadsClause>(bytes_of(count));
  *clause = {count, severity, message};
  for (std::uint32_t i = 0; i < count; ++i) clause->values()[i] = positive(values[i]);
  member.pushed_clause = clause;
}

void drop_clause(Member& member) {
  if (!member.pushed_clause) return;
  give_clause(member.pushed_clause);
  member.pushed_clause = nullptr;
}

void give_clause(ThreadsClause* clause) {
  if (clause) give_others(clause, bytes_of(clause->count));
}

void inherit_clause(Team& team) {
  const Team& outer = *team.opener->team;
  const ThreadsClause* own = team.region.clause;
  if (own && own->count) {
    team.threads_list = own;
    team.threads_list_level = team.level;
  } else {
    team.threads_list = outer.threads_list;
    team.threads_list_level = outer.threads_list_level;
  }
  const ThreadsClause* list = team.threads_list;
  if (__builtin_expect(list == nullptr, 1)) return;
  std::uint32_t next = team.level - team.threads_list_level + 1;
  team.icvs.threads =
      static_cast<std::int32_t>(list->values()[next < list->count ? next : list->count - 1]);
}

void check_strict(const Team& team) {
  const ThreadsClause* clause = team.region.clause;
  unsigned wanted = team.region.threads;
  if (!wanted) {
    clause = team.opener->team->threads_list;
    wanted = static_cast<unsigned>(team.opener->task->icvs.threads);
  }
  if (__builtin_expect(clause && clause->severity && team.size < wanted, 0))
    complain(*clause, wanted, team.size);
}

}  // namespace roost::omp

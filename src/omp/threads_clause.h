// The num_threads clause as OpenMP 6.0 has it: a list of values, and the modifier strict.
#pragma once

#include <cstdint>

namespace roost::omp {

struct Member;
struct Team;

// What it says of the next region of a member, besides the first value. In memory of its own.
struct ThreadsClause {
  // Of a list: for the region, the regions in it, those in them, ...; the last for all further
  // ones.
  std::uint32_t count;  // 0: no list
  // strict: what to do where a region gets fewer members. 0: nothing; 1: warn; 2: end the program.
  int severity;
  const char* message;  // to say then, or null
  std::uint32_t* values() { return reinterpret_cast<std::uint32_t*>(this + 1); }
  const std::uint32_t* values() const { return reinterpret_cast<const std::uint32_t*>(this + 1); }
};

// Replaces what was said before.
void push_clause(Member& member, const std::int32_t* values, std::uint32_t count, int severity,
                 const char* message);
void drop_clause(Member& member);
void give_clause(ThreadsClause* clause);

// A region begins: lists of clauses around it give its members' number for regions of theirs.
void inherit_clause(Team& team);
// Its size is less than the opener asked for by a strict clause, on the region or by a list around
// it.
void check_strict(const Team& team);

}  // namespace roost::omp

// Found anew at each question, from the outermost region on: nobody pays for it who does not ask.
#include "omp/placement.h"

#include "omp/affinity.h"
#include "omp/league.h"

namespace roost::omp {
namespace {

// What the region's members are placed by, and how many they are. The leagues of a teams construct
// are the members of a region that is not there.
struct Division {
  Bind bind;
  unsigned size;
};
Division division_of(const Team& team) {
  if (const League* league = team.region.league) return {settings().teams_bind, league->size};
  Bind inherited = team.opener->task->icvs.bind;
  Bind clause = team.region.bind;
  return {inherited != Bind::no && clause != Bind::no ? clause : inherited, team.size};
}

}  // namespace

Placement placement_of(const Member& member) {
  const Team& team = *member.team;
  if (!team.opener) return {0, 0, place_count()};
  const League* league = team.region.league;
  Division division = division_of(team);
  return divide(placement_of(*team.opener), division.bind, division.size,
                league ? league->number : member.number);
}

std::uint64_t placements_name(const Team& team) {
  if (!team.opener) return 0;
  Placement outer = placement_of(*team.opener);
  Division division = division_of(team);
  std::uint64_t name = std::uint64_t{outer.place} << 42 | std::uint64_t{outer.first} << 28 |
                       std::uint64_t{outer.count} << 14 | division.size;
  return name * 8 + static_cast<unsigned>(division.bind);
}

}  // namespace roost::omp

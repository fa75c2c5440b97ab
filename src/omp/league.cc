// Initial tasks within a program: a team of one that counts as the outermost.
#include "omp/league.h"

namespace roost::omp {

void run_initial_task(const League& league, void (*part)(void* argument), void* argument) {
  Member& opener = self();
  ult::Carrier& carrier = *ult::here.carrier;
  bool counted = carrier.counted;
  Region region = serial_region();
  region.league = &league;
  Team& team = begin_region(region);
  team.level = 0;
  team.active_level = 0;
  team.league_size = league.size;
  team.league = league.number;
  Icvs& icvs = team.members[0].task->icvs;
  icvs = league.icvs ? *league.icvs : opener.task->icvs;  // not those of the next level
  if (league.thread_limit) icvs.thread_limit = league.thread_limit;
  {
    ompt::UserCode code;
    part(argument);
  }
  end_region();
  // Outermost regions count their master's carrier out when they end, but these were inside.
  if (counted) ult::count_in(carrier);
}

void run_leagues(League league, void (*part)(void* argument), void* argument) {
  Member& opener = self();
  ompt::Data data = {};
  league.tool = &data;
  ompt::league_begins(opener, data, league.size);
  for (league.number = 0; league.number < league.size; ++league.number)
    run_initial_task(league, part, argument);
  ompt::league_ends(opener, data);
}

std::uint32_t leagues_for(std::uint32_t wanted) {
  if (wanted) return wanted;
  std::int32_t said = num_teams.load(std::memory_order_relaxed);
  return said > 0 ? static_cast<std::uint32_t>(said) : 1;
}

std::int32_t league_thread_limit(std::uint32_t wanted) {
  if (!wanted) return teams_thread_limit.load(std::memory_order_relaxed);
  return wanted > 0x7fff'ffff ? 0x7fff'ffff : static_cast<std::int32_t>(wanted);
}

}  // namespace roost::omp

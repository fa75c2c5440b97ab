// Code that runs as the initial task of a device: target regions on the host, and leagues of teams.
#pragma once

#include <cstdint>

#include "omp/team.h"

namespace roost::omp {

// The initial task's place in a league; one of its own for a target region.
struct League {
  std::uint32_t size = 1;
  std::uint32_t number = 0;
  std::int32_t thread_limit = 0;  // 0: as it is
  const Icvs* icvs = nullptr;     // the device's own, to begin with; null: the opener's
  ompt::Data* tool = nullptr;     // of the teams region, for a tool; null: there is none
};

// Calls part(argument) as an initial task: at nesting level 0, in a team of one. The leagues of a
// teams construct come one after the other, each with all threads for its regions.
void run_initial_task(const League& league, void (*part)(void* argument), void* argument);
// A teams construct: so for each of its leagues, counted from 0. `league.number` is not looked at.
void run_leagues(League league, void (*part)(void* argument), void* argument);

// How many leagues there are if the program asks for `wanted`, 0: for none in particular. One is
// all that helps on a host.
std::uint32_t leagues_for(std::uint32_t wanted);
// The limit for each if the program asks for `wanted`; 0: none.
std::int32_t league_thread_limit(std::uint32_t wanted);

}  // namespace roost::omp

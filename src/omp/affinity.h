// Places and the text about where threads run. Roost places threads itself: OMP_PLACES and
// OMP_PROC_BIND bind nobody; the API tells where members would be (omp/placement.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace roost::omp {

struct Member;

// ---- Places (places.cc) -------------------------------------------------------------------------

// From the text of OMP_PLACES; once, while the environment is read. False if it is malformed or has
// no place of this process.
bool define_places(const char* text);
// Nothing is to be bound: there are none.
void forget_places();
unsigned place_count();
// CPUs of a place that exists; their number.
unsigned place_cpus(unsigned place, const std::uint16_t*& cpus);

// From the text of KMP_HW_SUBSET; once, before the places. False if it is malformed or asks for
// more than there is.
bool define_hw_subset(const char* text);
// Cores the process may use at once, by that subset, too.
unsigned usable_cores();

// CPUs the process may use, and are in the subset: calls add(argument, cpu) for each, in order;
// their number.
unsigned usable_cpus(void (*add)(void* argument, unsigned cpu), void* argument);

// ---- Formats (affinity.cc) ----------------------------------------------------------------------

// Bytes a format can have, with the null; longer ones are cut off.
inline constexpr std::size_t kAffinityFormatRoom = 512;
void set_affinity_format(const char* format);
// Writes what fits with a null; the whole length.
std::size_t get_affinity_format(char* buffer, std::size_t size);

// Whether OMP_DISPLAY_AFFINITY is set: each member then says once where it is, by itself, at the
// beginning of its part.
extern constinit std::atomic<bool> affinity_wanted;
void display_affinity_of(const Member& member);

}  // namespace roost::omp

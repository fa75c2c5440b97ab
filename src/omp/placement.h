// Where members belong among the places, by proc_bind (OpenMP 5.2, section 10.1.3).
#pragma once

#include "omp/icv.h"

namespace roost::omp {

struct Member;
struct Team;

// A place, by its number, and the partition it lies in: those that regions which its member opens
// are spread over.
struct Placement {
  unsigned place = 0;
  unsigned first = 0;
  unsigned count = 0;  // of places in the partition; 0: there are no places

  // As the API has it: -1 where there are no places.
  int number() const { return count ? static_cast<int>(place) : -1; }
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Of member `number` among `size`, where the one that opened the region has `outer`.
// Bind::yes is `close`, as with libgomp.
inline Placement divide(const Placement& outer, Bind bind, unsigned size, unsigned number) {
  if (!outer.count || bind == Bind::no || bind == Bind::primary || size <= 1) return outer;
  std::uint64_t count = outer.count;
  // The n-th part of the partition if it is cut in so many, and where a part begins.
  auto cut = [&](std::uint64_t part, std::uint64_t parts) { return part * count / parts; };
  auto nth = [&](std::uint64_t index) {
    return outer.first + static_cast<unsigned>(index % count);
  };
  std::uint64_t own = outer.place - outer.first;  // the opener's
  if (size > count) {
    Placement found = outer;
    found.place = nth(own + std::uint64_t{number} * count / size);
    if (bind == Bind::spread) {
      found.first = found.place;
      found.count = 1;
    }
    return found;
  }
  if (bind != Bind::spread) return {nth(own + number), outer.first, outer.count};
  std::uint64_t part = ((own + 1) * size - 1) / count;  // that the opener's place is in
  part = (part + number) % size;
  Placement found;
  found.first = nth(cut(part, size));
  found.count = static_cast<unsigned>(cut(part + 1, size) - cut(part, size));
  found.place = number == 0 ? outer.place : found.first;
  return found;
}

// Members are not bound: this is what the API tells (docs/design/041-places.md).
Placement placement_of(const Member& member);
// Changes if the places of the team's members do, but for chance.
std::uint64_t placements_name(const Team& team);

}  // namespace roost::omp

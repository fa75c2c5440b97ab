// The text of OMP_PLACES.
//
//   {0,1},{2:4},{0:2}:4:2      a place is a list of CPUs or intervals first:count:stride; after it,
//                              how many such places there are and how far apart they begin
//   cores(4)                   a name, and how many
#include "omp/env_cursor.h"
#include "omp/env_parse.h"

namespace roost::omp::parse {

bool PlaceTable::add(unsigned cpu, unsigned& open) {
  unsigned at = end() + open;
  if (at >= cpus_room || cpu > 0xffff) return false;
  cpus[at] = static_cast<std::uint16_t>(cpu);
  ++open;
  return true;
}

bool PlaceTable::close(unsigned& open) {
  if (count >= room) return false;
  unsigned begin = end();
  begins[count] = begin;
  begins[++count] = begin + open;
  open = 0;
  return true;
}

namespace {

// How many and how far apart: [:count[:stride]].
struct Interval {
  std::int64_t count = 1;
  std::int64_t stride = 1;
};
bool interval(Cursor& cursor, Interval& found) {
  if (!cursor.letter(':')) return true;
  if (!cursor.number(found.count) || found.count < 1 || found.count > 0xffff) return false;
  return !cursor.letter(':') || cursor.number(found.stride);
}

// Leaves CPU `cpu` out of the open place.
void remove(PlaceTable& table, unsigned cpu, unsigned& open) {
  unsigned begin = table.end();
  unsigned kept = 0;
  for (unsigned i = 0; i < open; ++i)
    if (table.cpus[begin + i] != cpu) table.cpus[begin + kept++] = table.cpus[begin + i];
  open = kept;
}

// The inside of braces.
bool place(Cursor& cursor, PlaceTable& table, unsigned& open) {
  do {
    bool without = cursor.letter('!');
    std::int64_t first = 0;
    Interval each;
    if (!cursor.number(first) || (!without && !interval(cursor, each))) return false;
    for (std::int64_t i = 0; i < each.count; ++i) {
      std::int64_t cpu = first + i * each.stride;
      if (cpu < 0) return false;
      if (without) {
        remove(table, static_cast<unsigned>(cpu), open);
      } else if (!table.add(static_cast<unsigned>(cpu), open)) {
        return false;
      }
    }
  } while (cursor.letter(','));
  return cursor.letter('}') && open > 0;
}

// Places equal to the one at `place` are left out, for "!{...}".
bool exclude(PlaceTable& table, unsigned open) {
  unsigned begin = table.end();
  for (unsigned p = 0; p < table.count; ++p) {
    unsigned from = table.begins[p];
    if (table.begins[p + 1] - from != open) continue;
    bool same = true;
    for (unsigned i = 0; i < open && same; ++i)
      same = table.cpus[from + i] == table.cpus[begin + i];
    if (!same) continue;
    for (unsigned i = from + open; i < begin; ++i) table.cpus[i - open] = table.cpus[i];
    for (unsigned q = p; q < table.count; ++q) table.begins[q] = table.begins[q + 1] - open;
    --table.count;
    return true;
  }
  return true;  // there was none
}

bool listed(Cursor& cursor, PlaceTable& table) {
  do {
    bool without = cursor.letter('!');
    unsigned open = 0;
    if (cursor.letter('{')) {
      if (!place(cursor, table, open)) return false;
    } else {
      std::int64_t cpu = 0;  // a place of one CPU may stand without braces
      if (!cursor.number(cpu) || cpu < 0 || !table.add(static_cast<unsigned>(cpu), open))
        return false;
    }
    Interval each;
    if (without) {
      if (!exclude(table, open)) return false;
      continue;
    }
    if (!interval(cursor, each)) return false;
    unsigned begin = table.end();
    unsigned size = open;
    if (!table.close(open)) return false;
    for (std::int64_t i = 1; i < each.count; ++i) {
      for (unsigned k = 0; k < size; ++k) {
        std::int64_t cpu = table.cpus[begin + k] + i * each.stride;
        if (cpu < 0 || !table.add(static_cast<unsigned>(cpu), open)) return false;
      }
      if (!table.close(open)) return false;
    }
  } while (cursor.letter(','));
  return cursor.ended();
}

constexpr struct {
  const char* name;
  PlaceKind kind;
} kPlaceNames[] = {{"threads", PlaceKind::threads},
                   {"cores", PlaceKind::cores},
                   {"ll_caches", PlaceKind::ll_caches},
                   {"numa_domains", PlaceKind::numa_domains},
                   {"sockets", PlaceKind::sockets}};

}  // namespace

const char* nearest_places(const char* text) {
  const auto* known = Cursor(text).one_of(kPlaceNames);
  return known ? known->name : "cores";
}

bool places(const char* text, PlaceKind& kind, unsigned& wanted, PlaceTable& table) {
  Cursor cursor(text);
  if (const auto* known = cursor.one_of(kPlaceNames)) {
    std::int64_t count = 0;
    if (cursor.letter('(') &&
        (!cursor.number(count) || count < 1 || count > 0xffff || !cursor.letter(')'))) {
      return false;
    }
    if (!cursor.ended()) return false;
    kind = known->kind;
    wanted = static_cast<unsigned>(count);
    return true;
  }
  unsigned count = table.count;
  if (listed(cursor, table)) {
    kind = PlaceKind::listed;
    return true;
  }
  table.count = count;
  return false;
}

void cpu_list(const char* text, void (*add)(void* argument, unsigned cpu), void* argument) {
  Cursor cursor(text);
  do {
    std::int64_t first = 0;
    if (!cursor.number(first) || first < 0 || first > 0xffff) return;
    std::int64_t last = first;
    // "0-3": the sign belongs to the number behind it.
    if (cursor.number(last)) last = -last;
    for (std::int64_t cpu = first; cpu <= last && cpu <= 0xffff; ++cpu)
      add(argument, static_cast<unsigned>(cpu));
  } while (cursor.letter(','));
}

}  // namespace roost::omp::parse

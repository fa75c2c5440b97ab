// Numbers, words and lists in the values of environment variables.
#include "omp/env_parse.h"

#include <initializer_list>

#include "omp/env_cursor.h"

namespace roost::omp::parse {

bool integer(const char* text, std::int64_t low, std::int64_t high, std::int64_t& value) {
  Cursor cursor(text);
  std::int64_t number = 0;
  if (!cursor.number(number) || !cursor.ended() || number < low || number > high) return false;
  value = number;
  return true;
}

bool word(const char* text, const char* words, int& index) {
  int position = 0;
  for (const char* candidate = words; *candidate; ++position) {
    Cursor cursor(text);
    if (cursor.name(candidate) && cursor.ended()) {
      index = position;
      return true;
    }
    while (*candidate) ++candidate;
    ++candidate;
  }
  return false;
}

bool boolean(const char* text, bool& value) {
  int index = 0;
  if (!word(text,
            "true\0false\0yes\0no\0on\0off\0"
            "1\0"
            "0\0",
            index))
    return false;
  value = index % 2 == 0;
  return true;
}

bool bytes(const char* text, std::size_t unit, std::size_t& value) {
  Cursor cursor(text);
  std::int64_t number = 0;
  if (!cursor.number(number) || number <= 0) return false;
  std::size_t factor = unit;
  if (!cursor.ended()) {
    const char* const kLetters = "BKMGT";
    int power = 0;
    while (kLetters[power] && !cursor.letter(kLetters[power])) ++power;
    if (!kLetters[power]) return false;
    factor = std::size_t{1} << 10 * power;
    if (power) cursor.letter('B');
    if (!cursor.ended()) return false;
  }
  std::size_t result = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(number), factor, &result)) return false;
  value = result;
  return true;
}

namespace {

constexpr std::int64_t kForEver = 0x7fff'ffff'ffff'ffff;
bool is_for_ever(Cursor& cursor) { return cursor.name("infinite") || cursor.name("infinity"); }

}  // namespace

bool duration(const char* text, std::int64_t& nanoseconds) {
  Cursor cursor(text);
  if (is_for_ever(cursor)) {
    if (!cursor.ended()) return false;
    nanoseconds = kForEver;
    return true;
  }
  std::int64_t number = 0;
  if (!cursor.number(number) || number < 0) return false;
  std::int64_t unit = 1'000'000;
  if (cursor.name("us")) {
    unit = 1000;
  } else if (!cursor.name("ms") && cursor.name("s")) {
    unit = 1'000'000'000;
  }
  if (!cursor.ended()) return false;
  // Libomp's largest number means for ever, too.
  if (number >= 0x7fff'ffff || __builtin_mul_overflow(number, unit, &number)) number = kForEver;
  nanoseconds = number;
  return true;
}

bool turns(const char* text, std::int64_t& value) {
  Cursor cursor(text);
  std::int64_t number = kForEver;
  if (!is_for_ever(cursor)) {
    if (!cursor.number(number) || number < 0) return false;
    std::int64_t factor = 1;
    for (char unit : {'k', 'M', 'G', 'T'}) {
      factor *= 1000;
      if (!cursor.letter(unit)) continue;
      if (__builtin_mul_overflow(number, factor, &number)) number = kForEver;
      break;
    }
  }
  if (!cursor.ended()) return false;
  value = number;
  return true;
}

bool counts(const char* text, std::int32_t* values, int room, int& count) {
  // Read twice, so that a malformed list leaves nothing behind.
  for (bool store : {false, true}) {
    Cursor cursor(text);
    int found = 0;
    do {
      std::int64_t number = 0;
      if (!cursor.number(number) || number < 1 || number > 0x7fff'ffff) return false;
      if (store && found < room) values[found] = static_cast<std::int32_t>(number);
      ++found;
    } while (cursor.letter(','));
    if (!cursor.ended()) return false;
    count = store ? (found < room ? found : room) : count;
  }
  return true;
}

bool binds(const char* text, Bind* values, int room, int& count) {
  bool bound = false;
  if (boolean(text, bound) && room > 0) {
    values[0] = bound ? Bind::yes : Bind::no;
    count = 1;
    return true;
  }
  for (bool store : {false, true}) {
    Cursor cursor(text);
    int found = 0;
    do {
      Bind bind = Bind::no;
      if (cursor.name("primary") || cursor.name("master")) {
        bind = Bind::primary;
      } else if (cursor.name("close")) {
        bind = Bind::close;
      } else if (cursor.name("spread")) {
        bind = Bind::spread;
      } else {
        return false;
      }
      if (store && found < room) values[found] = bind;
      ++found;
    } while (cursor.letter(','));
    if (!cursor.ended()) return false;
    count = store ? (found < room ? found : room) : count;
  }
  return true;
}

bool schedule(const char* text, ScheduleValue& value) {
  Cursor cursor(text);
  ScheduleValue found;
  if (cursor.name("monotonic")) {
    if (!cursor.letter(':')) return false;
    found.monotonic = true;
  } else if (cursor.name("nonmonotonic")) {
    if (!cursor.letter(':')) return false;
  }
  if (cursor.name("static")) {
    found.kind = Schedule::static_;
  } else if (cursor.name("dynamic")) {
    found.kind = Schedule::dynamic;
  } else if (cursor.name("guided")) {
    found.kind = Schedule::guided;
  } else if (cursor.name("auto")) {
    found.kind = Schedule::automatic;
  } else if (cursor.name("trapezoidal")) {
    found.kind = Schedule::guided;
    found.trapezoidal = true;
  } else if (cursor.name("static_steal")) {
    found.kind = Schedule::dynamic;
  } else {
    return false;
  }
  if (cursor.letter(',') && (!cursor.number(found.chunk) || found.chunk < 1)) return false;
  if (!cursor.ended()) return false;
  value = found;
  return true;
}

bool is_cpu_affinity(const char* text) {
  Cursor cursor(text);
  do {
    std::int64_t first = 0, last = 0, stride = 1;
    if (!cursor.number(first) || first < 0) return false;
    last = first;
    if (cursor.letter('-')) {
      if (!cursor.number(last) || last < first) return false;
      if (cursor.letter(':') && (!cursor.number(stride) || stride < 1)) return false;
    }
    cursor.letter(',');
  } while (!cursor.ended());
  return true;
}

namespace {

constexpr const char* kAffinityWords[] = {
    "balanced", "compact", "disabled",   "explicit",     "logical",  "none",
    "physical", "scatter", "duplicates", "noduplicates", "respect",  "norespect",
    "reset",    "noreset", "verbose",    "noverbose",    "warnings", "nowarnings"};
constexpr const char* kGranularities[] = {
    "fine", "thread",      "core",  "tile",       "module",   "die",      "socket",   "package",
    "node", "numa_domain", "group", "proc_group", "ll_cache", "l1_cache", "l2_cache", "l3_cache"};

template <std::size_t n>
bool one_of(Cursor& cursor, const char* const (&words)[n]) {
  for (const char* candidate : words)
    if (cursor.name(candidate)) return true;
  return false;
}

// What stands in brackets, which say where it ends.
bool skip_list(Cursor& cursor) {
  std::int64_t number = 0;
  if (!cursor.letter('[')) return false;
  while (cursor.number(number) || cursor.letter(',') || cursor.letter('-') || cursor.letter(':') ||
         cursor.letter('{') || cursor.letter('}')) {
  }
  return cursor.letter(']');
}

}  // namespace

bool is_kmp_affinity(const char* text) {
  Cursor cursor(text);
  do {
    std::int64_t number = 0;
    if (cursor.number(number) || one_of(cursor, kAffinityWords)) continue;
    if (cursor.name("granularity") || cursor.name("gran")) {
      if (!cursor.letter('=') || !(cursor.number(number) || one_of(cursor, kGranularities)))
        return false;
    } else if (!cursor.name("proclist") || !cursor.letter('=') || !skip_list(cursor)) {
      return false;
    }
  } while (cursor.letter(','));
  return cursor.ended();
}

namespace {

struct Named {
  const char* name;
  std::uintptr_t value;
};

constexpr Named kAllocators[] = {{"omp_default_mem_alloc", 1}, {"omp_large_cap_mem_alloc", 2},
                                 {"omp_const_mem_alloc", 3},   {"omp_high_bw_mem_alloc", 4},
                                 {"omp_low_lat_mem_alloc", 5}, {"omp_cgroup_mem_alloc", 6},
                                 {"omp_pteam_mem_alloc", 7},   {"omp_thread_mem_alloc", 8}};
constexpr Named kSpaces[] = {{"omp_default_mem_space", 0},
                             {"omp_large_cap_mem_space", 1},
                             {"omp_const_mem_space", 2},
                             {"omp_high_bw_mem_space", 3},
                             {"omp_low_lat_mem_space", 4}};
constexpr Named kKeys[] = {{"sync_hint", 1}, {"alignment", 2}, {"access", 3}, {"pool_size", 4},
                           {"fallback", 5},  {"fb_data", 6},   {"pinned", 7}, {"partition", 8}};
constexpr Named kTraitValues[] = {{"false", 0},
                                  {"true", 1},
                                  {"contended", 3},
                                  {"uncontended", 4},
                                  {"serialized", 5},
                                  {"private", 6},
                                  {"all", 7},
                                  {"thread", 8},
                                  {"pteam", 9},
                                  {"cgroup", 10},
                                  {"default_mem_fb", 11},
                                  {"null_fb", 12},
                                  {"abort_fb", 13},
                                  {"allocator_fb", 14},
                                  {"environment", 15},
                                  {"nearest", 16},
                                  {"blocked", 17},
                                  {"interleaved", 18}};

template <std::size_t n>
bool one_of(Cursor& cursor, const Named (&names)[n], std::uintptr_t& value) {
  for (const Named& candidate : names) {
    if (!cursor.name(candidate.name)) continue;
    value = candidate.value;
    return true;
  }
  return false;
}

bool trait(Cursor& cursor, Trait& found) {
  std::uintptr_t key = 0;
  if (!one_of(cursor, kKeys, key) || !cursor.letter('=')) return false;
  found.key = static_cast<int>(key);
  std::int64_t number = 0;
  if (cursor.number(number)) {
    found.value = static_cast<std::uintptr_t>(number);
    return number >= 0;
  }
  return one_of(cursor, kTraitValues, found.value) || one_of(cursor, kAllocators, found.value);
}

}  // namespace

bool allocator(const char* text, AllocatorValue& value) {
  AllocatorValue found;
  Cursor cursor(text);
  if (one_of(cursor, kAllocators, found.allocator)) {
    if (!cursor.ended()) return false;
    value = found;
    return true;
  }
  if (!one_of(cursor, kSpaces, found.space)) return false;
  if (cursor.letter(':')) {
    do {
      if (found.n_traits == kMaxTraits || !trait(cursor, found.traits[found.n_traits++]))
        return false;
    } while (cursor.letter(','));
  }
  if (!cursor.ended()) return false;
  value = found;
  return true;
}

}  // namespace roost::omp::parse

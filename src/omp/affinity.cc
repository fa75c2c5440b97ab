// OMP_AFFINITY_FORMAT and the routines that show or capture what it says of a thread.
//
// A field is %[[[0].]width]type or with {name} for the type: "." puts the text to the right of its
// width, and "0." fills numbers up with zeros.
#include "omp/affinity.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "omp/export.h"
#include "omp/placement.h"
#include "omp/query.h"
#include "omp/team.h"
#include "ult/kernel.h"
#include "ult/spin_lock.h"

namespace roost::omp {

constinit std::atomic<bool> affinity_wanted{false};

namespace {

constexpr char kDefaultFormat[] = "level %L thread %i affinity %A";
constinit ult::SpinLock lock;
constinit char the_format[kAffinityFormatRoom] = {};  // empty: the default
constinit bool format_set = false;

using Line = Text<2048>;

struct Field {
  bool zeros = false;
  bool right = false;
  std::size_t width = 0;
  char type = 0;
};

struct LongName {
  const char* name;
  char type;
};
constexpr LongName kLongNames[] = {
    {"team_num", 't'},         {"num_teams", 'T'},      {"nesting_level", 'L'}, {"thread_num", 'n'},
    {"num_threads", 'N'},      {"ancestor_tnum", 'a'},  {"host", 'H'},          {"process_id", 'P'},
    {"native_thread_id", 'i'}, {"thread_affinity", 'A'}};

// Reads the field behind a percent sign; where it ends.
const char* read_field(const char* at, Field& field) {
  if (at[0] == '0' && at[1] == '.') {
    field.zeros = true;
    ++at;
  }
  if (*at == '.') {
    field.right = true;
    ++at;
  }
  while (*at >= '0' && *at <= '9' && field.width < 1000)
    field.width = field.width * 10 + static_cast<std::size_t>(*at++ - '0');
  if (*at != '{') {
    field.type = *at;
    return *at ? at + 1 : at;
  }
  const char* end = strchr(at, '}');
  if (!end) return at + 1;
  for (const LongName& candidate : kLongNames) {
    std::size_t length = static_cast<std::size_t>(end - at - 1);
    if (strncmp(candidate.name, at + 1, length) == 0 && !candidate.name[length])
      field.type = candidate.type;
  }
  return end + 1;
}

void number(Line& text, std::int64_t value) {
  if (value < 0) text << '-';
  text << static_cast<std::uint64_t>(value < 0 ? -value : value);
}

// Ranges of CPUs, "0-3,8".
struct Ranges {
  Line* text;
  int first = -1;
  int last = -1;
  void flush() {
    if (first < 0) return;
    if (text->length()) *text << ',';
    *text << static_cast<unsigned>(first);
    if (last > first) *text << (last > first + 1 ? '-' : ',') << static_cast<unsigned>(last);
  }
  static void add(void* self, unsigned cpu) {
    auto& ranges = *static_cast<Ranges*>(self);
    int number = static_cast<int>(cpu);
    if (ranges.first >= 0 && number == ranges.last + 1) {
      ranges.last = number;
      return;
    }
    ranges.flush();
    ranges.first = ranges.last = number;
  }
};

void value_of(char type, const Member& member, Line& text) {
  const Team& team = *member.team;
  switch (type) {
    case 't':
      return number(text, team.league);
    case 'T':
      return number(text, team.league_size);
    case 'L':
      return number(text, team.level);
    case 'n':
      return number(text, member.number);
    case 'N':
      return number(text, team.size);
    case 'a':
      return number(text, ancestor_number(member, static_cast<int>(team.level) - 1));
    case 'P':
      return number(text, getpid());
    case 'i':
      return number(text, syscall(SYS_gettid));
    case 'H': {
      char name[256] = {};
      if (gethostname(name, sizeof name - 1) == 0) text << static_cast<const char*>(name);
      return;
    }
    case 'A': {
      Ranges ranges{&text};
      if (Placement own = placement_of(member); own.count) {
        const std::uint16_t* cpus = nullptr;
        unsigned count = place_cpus(own.place, cpus);
        for (unsigned i = 0; i < count; ++i) Ranges::add(&ranges, cpus[i]);
      } else {
        usable_cpus(Ranges::add, &ranges);
      }
      ranges.flush();
      return;
    }
    default:
      text << "undefined";
  }
}

void put(Line& line, const Field& field, const Member& member) {
  Line text;
  value_of(field.type, member, text);
  bool numeric = strchr("tTLnNaPi", field.type) && field.type;
  std::size_t pad = field.width > text.length() ? field.width - text.length() : 0;
  bool right = field.right;
  char filler = field.zeros && numeric ? '0' : ' ';
  const char* digits = text.c_str();
  if (right && filler == '0' && *digits == '-') line << *digits++;
  for (; right && pad; --pad) line << filler;
  line << digits;
  for (; pad; --pad) line << ' ';
}

void expand(Line& line, const char* format, const Member& member) {
  while (*format) {
    if (*format != '%') {
      line << *format++;
    } else if (format[1] == '%') {
      line << '%';
      format += 2;
    } else {
      Field field;
      format = read_field(format + 1, field);
      put(line, field, member);
    }
  }
}

// `format`: null or empty means the one that is set.
void describe(Line& line, const char* format, const Member& member) {
  char own[kAffinityFormatRoom];
  if (!format || !*format) {
    get_affinity_format(own, sizeof own);
    format = own;
  }
  expand(line, format, member);
}

bool is_loaded(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle;
}

// Where the program's own runtime would show it: libomp on standard output, libgomp on standard
// error.
bool shows_on_output() {
  static constinit std::atomic<int> state{0};  // 0: not looked; 1: no; 2: yes
  if (!state.load(std::memory_order_relaxed)) {
    bool llvm = is_loaded("libomp.so.5") || is_loaded("libomp.so") || is_loaded("libiomp5.so");
    state.store(llvm && !is_loaded("libgomp.so.1") ? 2 : 1, std::memory_order_relaxed);
  }
  return state.load(std::memory_order_relaxed) == 2;
}

void display(const char* format, const Member& member) {
  Line line;
  describe(line, format, member);
  line << '\n';
  if (shows_on_output()) {
    fwrite(line.c_str(), 1, line.length(), stdout);  // between what the program prints
  } else {
    ult::kernel::write_error(line.c_str(), line.length());
  }
}

std::size_t copy(char* buffer, std::size_t size, const char* text, std::size_t length) {
  if (!size) return length;
  std::size_t fits = length < size ? length : size - 1;
  memcpy(buffer, text, fits);
  buffer[fits] = 0;
  return length;
}

// Fortran's character strings: no null, filled up with blanks.
struct FromFortran {
  char text[kAffinityFormatRoom];
  FromFortran(const char* from, std::size_t length) {
    while (length && from[length - 1] == ' ') --length;
    copy(text, sizeof text, from, length);
  }
};
void to_fortran(char* to, std::size_t size, const char* text) {
  std::size_t length = strlen(text);
  if (length > size) length = size;
  if (!size) return;
  memcpy(to, text, length);  // NOLINT(bugprone-not-null-terminated-result): Fortran's have no null
  memset(to + length, ' ', size - length);
}

}  // namespace

void set_affinity_format(const char* format) {
  ult::SpinGuard guard(lock);
  copy(the_format, sizeof the_format, format, strlen(format));
  format_set = true;
}

std::size_t get_affinity_format(char* buffer, std::size_t size) {
  ult::SpinGuard guard(lock);
  const char* format = format_set ? the_format : kDefaultFormat;
  return copy(buffer, size, format, strlen(format));
}

namespace {

// Who the member is from one region to the next: a team's master is the thread that opened it, the
// others are named by that, their level and number.
std::uint64_t name_of(const Member& member) {
  std::uint64_t name = 0;
  auto add = [&](std::uint64_t part) {
    name = (name ^ part) * 0x9e37'79b9'7f4a'7c15u;
    name ^= name >> 29;
  };
  const Member* at = &member;
  for (; at->team->opener; at = at->team->opener)
    if (at->number != 0) add(std::uint64_t{at->team->level} << 32 | at->number);
  add(static_cast<std::uint64_t>(at->gtid));
  return name | 1;
}

}  // namespace

void display_affinity_of(const Member& member) {
  // Again when who it is was last in a region of another level or size, or whose members were at
  // other places, as with libomp.
  struct Shown {
    std::atomic<std::uint64_t> who;  // 0: nobody
    std::atomic<std::uint64_t> where;
  };
  constexpr unsigned kTable = 1 << 16, kTries = 64;
  static constinit Shown shown[kTable] = {};
  const Team& team = *member.team;
  std::uint64_t who = name_of(member);
  std::uint64_t where = (std::uint64_t{team.level} << 32 | team.size) ^
                        placements_name(team) * 0x9e37'79b9'7f4a'7c15u;
  std::uint64_t first = who >> 48;
  for (unsigned i = 0; i < kTries; ++i) {
    Shown& slot = shown[(first + i) % kTable];
    std::uint64_t found = 0;
    if (!slot.who.compare_exchange_strong(found, who, std::memory_order_relaxed) && found != who)
      continue;
    if (slot.where.exchange(where, std::memory_order_relaxed) != where) display(nullptr, member);
    return;
  }
}

extern "C" {

ROOST_EXPORT void omp_set_affinity_format(const char* format) {
  settings();  // or reading them later would overwrite it
  if (format) set_affinity_format(format);
}
ROOST_EXPORT std::size_t omp_get_affinity_format(char* buffer, std::size_t size) {
  settings();
  return get_affinity_format(buffer, size);
}
ROOST_EXPORT void omp_display_affinity(const char* format) { display(format, self()); }
ROOST_EXPORT std::size_t omp_capture_affinity(char* buffer, std::size_t size, const char* format) {
  Line line;
  describe(line, format, self());
  return copy(buffer, size, line.c_str(), line.length());
}

ROOST_EXPORT void omp_set_affinity_format_(const char* format, std::size_t length) {
  omp_set_affinity_format(FromFortran(format, length).text);
}
ROOST_EXPORT std::int32_t omp_get_affinity_format_(char* buffer, std::size_t size) {
  char format[kAffinityFormatRoom];
  std::size_t length = omp_get_affinity_format(format, sizeof format);
  to_fortran(buffer, size, format);
  return static_cast<std::int32_t>(length);
}
ROOST_EXPORT void omp_display_affinity_(const char* format, std::size_t length) {
  omp_display_affinity(FromFortran(format, length).text);
}
ROOST_EXPORT std::int32_t omp_capture_affinity_(char* buffer, const char* format, std::size_t size,
                                                std::size_t length) {
  Line line;
  describe(line, FromFortran(format, length).text, self());
  to_fortran(buffer, size, line.c_str());
  return static_cast<std::int32_t>(line.length());
}

// What libomp's omp_lib binds to.
ROOST_EXPORT void ompc_set_affinity_format(const char* format) { omp_set_affinity_format(format); }
ROOST_EXPORT std::size_t ompc_get_affinity_format(char* buffer, std::size_t size) {
  return omp_get_affinity_format(buffer, size);
}
ROOST_EXPORT void ompc_display_affinity(const char* format) { omp_display_affinity(format); }
ROOST_EXPORT std::size_t ompc_capture_affinity(char* buffer, std::size_t size, const char* format) {
  return omp_capture_affinity(buffer, size, format);
}

}  // extern "C"
}  // namespace roost::omp

// Finds the process's cgroups and the quotas on the way up.
//
// /proc/self/cgroup names the cgroup of each hierarchy; /proc/self/mountinfo says where hierarchies
// are mounted, and which part of them: in a container without a cgroup namespace the mount shows a
// subtree only, whose root must be cut off the cgroup's name.
#include "topo/quota.h"

#include <cstring>

#include "base/text.h"
#include "os/file.h"

namespace roost {
namespace {

struct OwnCgroups {
  PathText v1;  // of the hierarchy with the cpu controller; empty if there is none
  PathText v2;
};

// Whether the comma-separated `list` of `length` bytes has the word "cpu".
bool lists_cpu(const char* list, std::size_t length) {
  const char* end = list + length;
  while (list < end) {
    const char* comma =
        static_cast<const char*>(std::memchr(list, ',', static_cast<std::size_t>(end - list)));
    const char* stop = comma ? comma : end;
    if (stop - list == 3 && std::memcmp(list, "cpu", 3) == 0) return true;
    list = stop + 1;
  }
  return false;
}

// Lines are "hierarchy:controllers:path"; the unified hierarchy is "0::path".
void read_own_cgroups(const char* root, OwnCgroups& own) {
  PathText file(root);
  file << "/proc/self/cgroup";
  os::LineReader lines(file.c_str());
  while (char* line = lines.next()) {
    char* controllers = std::strchr(line, ':');
    char* path = controllers ? std::strchr(++controllers, ':') : nullptr;
    if (!path) continue;
    std::size_t length = static_cast<std::size_t>(path++ - controllers);
    if (length == 0) {
      own.v2 = PathText(path);
    } else if (lists_cpu(controllers, length)) {
      own.v1 = PathText(path);
    }
  }
}

// Cuts the next field off a line of fields separated by blanks; null at the end.
char* next_field(char*& at) {
  if (!at || !*at) return nullptr;
  char* field = at;
  at = std::strchr(at, ' ');
  if (at) *at++ = 0;
  return field;
}

// Paths in mountinfo write blanks and the like as \040.
void unescape(const char* from, PathText& to) {
  auto octal = [](char c) { return c >= '0' && c <= '7'; };
  while (*from) {
    if (from[0] == '\\' && octal(from[1]) && octal(from[2]) && octal(from[3])) {
      to << static_cast<char>((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
      from += 4;
    } else {
      to << *from++;
    }
  }
}

struct Mount {
  PathText root;  // the cgroup that the mount point shows
  PathText point;
  bool v2 = false;
};

// "id parent device root point options [optional ...] - type source super-options" (proc(5)).
bool parse_cgroup_mount(char* line, Mount& mount) {
  char* at = line;
  for (int i = 0; i < 3; ++i) next_field(at);
  char* root = next_field(at);
  char* point = next_field(at);
  char* field;
  while ((field = next_field(at)) && std::strcmp(field, "-") != 0) {
  }
  char* type = next_field(at);
  next_field(at);
  char* options = next_field(at);
  if (!type || !options) return false;
  mount.v2 = std::strcmp(type, "cgroup2") == 0;
  bool v1 = std::strcmp(type, "cgroup") == 0 && lists_cpu(options, std::strlen(options));
  if (!mount.v2 && !v1) return false;
  mount.root.clear();
  mount.point.clear();
  unescape(root, mount.root);
  unescape(point, mount.point);
  return true;
}

// The part of `path` below `root`, starting with '/' or empty; "" if it is not below.
const char* below(const char* path, const char* root) {
  std::size_t length = std::strlen(root);
  if (length == 1) length = 0;  // "/"
  if (std::strncmp(path, root, length) != 0) return "";
  const char* rest = path + length;
  bool inside = *rest == '/' && rest[1] && std::strncmp(rest, "/..", 3) != 0;
  return inside ? rest : "";
}

// The number at the start of a text; -1 if there is none ("max", "-1").
long long number_at(const char* text) {
  if (*text < '0' || *text > '9') return -1;
  long long value = 0;
  for (; *text >= '0' && *text <= '9' && value < (1ll << 50); ++text)
    value = value * 10 + (*text - '0');
  return value;
}

unsigned whole_cores(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  long long cores = (quota + period - 1) / period;
  return cores > 1'000'000 ? 1'000'000u : static_cast<unsigned>(cores);
}

// These two lengthen the path, and leave it as it was: the stack may be a small one.
long long read_number(PathText& folder, const char* name) {
  std::size_t length = folder.length();
  folder << '/' << name;
  char text[64];
  long long number = os::read_text(folder.c_str(), text, sizeof text) > 0 ? number_at(text) : -1;
  folder.shorten(length);
  return number;
}

unsigned quota_of_folder(PathText& folder, bool v2) {
  if (!v2) {
    return whole_cores(read_number(folder, "cpu.cfs_quota_us"),
                       read_number(folder, "cpu.cfs_period_us"));
  }
  std::size_t length = folder.length();
  folder << "/cpu.max";  // "quota period" or "max period"
  char text[64];
  long got = os::read_text(folder.c_str(), text, sizeof text);
  folder.shorten(length);
  if (got <= 0) return 0;
  const char* blank = std::strchr(text, ' ');
  return blank ? whole_cores(number_at(text), number_at(blank + 1)) : 0;
}

unsigned smaller(unsigned a, unsigned b) {
  if (a == 0 || b == 0) return a + b;
  return a < b ? a : b;
}

// From the process's cgroup up to the mount point.
unsigned quota_of_mount(const char* root, const Mount& mount, const PathText& own) {
  PathText folder(root);
  folder << mount.point.c_str();
  std::size_t top = folder.length();
  folder << below(own.c_str(), mount.root.c_str());
  if (folder.cut()) return 0;
  unsigned quota = 0;
  for (;;) {
    quota = smaller(quota, quota_of_folder(folder, mount.v2));
    if (folder.length() <= top) return quota;
    folder.shorten(static_cast<std::size_t>(std::strrchr(folder.c_str(), '/') - folder.c_str()));
  }
}

}  // namespace

unsigned cpu_quota(const char* root) {
  OwnCgroups own;
  read_own_cgroups(root, own);
  PathText file(root);
  file << "/proc/self/mountinfo";
  os::LineReader lines(file.c_str());
  unsigned quota = 0;
  while (char* line = lines.next()) {
    Mount mount;
    if (!parse_cgroup_mount(line, mount)) continue;
    const PathText& path = mount.v2 ? own.v2 : own.v1;
    if (path.length()) quota = smaller(quota, quota_of_mount(root, mount, path));
  }
  return quota;
}

}  // namespace roost

// Parses and formats CPU lists.
#include "topo/cpulist.h"

#include <cerrno>

namespace roost {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

const char* skip_space(const char* at) {
  while (is_space(*at)) ++at;
  return at;
}

// What stands at a place, for an error: to the next white space, and not for ever.
Text<64> quoted(const char* at) {
  Text<64> text("'");
  for (int i = 0; i < 40 && at[i] && !is_space(at[i]); ++i) text << at[i];
  text << '\'';
  return text;
}

// Reads a CPU number and moves `at` behind it.
int parse_number(const char*& at, unsigned& number, ErrorText& error) {
  if (!is_digit(*at)) {
    if (*skip_space(at) == 0) {
      error << "a CPU number is missing at the end";
    } else {
      error << quoted(at).c_str() << " does not start with a CPU number";
    }
    return -EINVAL;
  }
  const char* start = at;
  number = 0;
  for (; is_digit(*at); ++at) {
    number = number * 10 + static_cast<unsigned>(*at - '0');
    if (number >= kMaxCores) {
      error << quoted(start).c_str() << " is beyond the highest CPU number, " << kMaxCores - 1;
      return -ERANGE;
    }
  }
  return 0;
}

// Reads "N" or "N-M" into `cpus` and moves `at` behind it.
int parse_range(const char*& at, CpuSet& cpus, ErrorText& error) {
  unsigned low = 0;
  if (int failed = parse_number(at, low, error)) return failed;
  unsigned high = low;
  if (*at == '-') {
    ++at;
    if (int failed = parse_number(at, high, error)) return failed;
  }
  if (high < low) {
    error << "'" << low << '-' << high << "' runs backwards";
    return -EINVAL;
  }
  for (unsigned cpu = low; cpu <= high; ++cpu) cpus.set(cpu);
  return 0;
}

template <class Out>
void format(const CpuSet& cpus, Out& out) {
  for (unsigned low = cpus.first(); low < kMaxCores;) {
    unsigned high = low;
    while (cpus.test(high + 1)) ++high;
    if (out.length()) out << ',';
    out << low;
    if (high > low) out << '-' << high;
    low = cpus.next(high);
  }
}

}  // namespace

int parse_cpulist(const char* list, CpuSet& cpus, ErrorText& error) {
  cpus = {};
  error.clear();
  const char* at = skip_space(list);
  if (*at == 0) return 0;
  for (;;) {
    if (int failed = parse_range(at, cpus, error)) return failed;
    if (*skip_space(at) == 0) return 0;
    if (*at != ',') {
      error << quoted(skip_space(at)).c_str() << " stands where ',' should be";
      return -EINVAL;
    }
    ++at;
  }
}

CpuListText format_cpulist(const CpuSet& cpus) {
  CpuListText text;
  format(cpus, text);
  return text;
}

Text<96> brief_cpulist(const CpuSet& cpus) {
  CpuListText whole = format_cpulist(cpus);
  Text<96> brief;
  brief.append(whole.c_str(), 80);
  if (whole.length() > 80) brief << "...";
  return brief;
}

}  // namespace roost

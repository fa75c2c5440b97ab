// Parses and formats durations.
#include "cli/duration.h"

#include <fmt/format.h>

#include <limits>

namespace roost::cli {
namespace {

struct Unit {
  const char* name;
  Nanoseconds ns;
};
constexpr Unit kUnits[] = {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && (is_digit(text[length]) || text[length] == '.')) ++length;
  std::string_view number = text.substr(0, length);
  const Unit* unit = nullptr;
  for (const Unit& candidate : kUnits) {
    if (text.substr(length) == candidate.name) unit = &candidate;
  }
  if (!unit || number.empty() || !is_digit(number.front()) || !is_digit(number.back())) return {};

  constexpr Nanoseconds kMost = std::numeric_limits<Nanoseconds>::max() / 10;
  Nanoseconds total = 0;
  Nanoseconds weight = unit->ns;  // of the next digit behind the point
  bool fraction = false;
  for (char c : number) {
    if (c == '.') {
      if (fraction) return {};
      fraction = true;
      continue;
    }
    Nanoseconds digit = static_cast<Nanoseconds>(c - '0');
    if (!fraction) {
      if (total > (kMost / unit->ns - 1) * unit->ns) return {};
      total = total * 10 + digit * unit->ns;
    } else {
      if (weight % 10 != 0 && digit != 0) return {};
      weight /= 10;
      total += digit * weight;
    }
  }
  return total;
}

std::string format_duration(Nanoseconds ns) {
  for (const Unit& unit : kUnits) {
    if (ns != 0 && ns % unit.ns == 0) return fmt::format("{}{}", ns / unit.ns, unit.name);
  }
  return "0ns";
}

}  // namespace roost::cli

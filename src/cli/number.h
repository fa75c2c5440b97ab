// Numbers as people write them.
#pragma once

#include <charconv>
#include <optional>
#include <string>

namespace roost::cli {

// Nothing unless the whole text is a decimal number that fits; a sign only where Number has one.
template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace roost::cli

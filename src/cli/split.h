// A list in one text, such as "a:b:c", apart.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace roost::cli {

// All parts, empty ones too: there is always at least one.
inline std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= list.size();) {
    std::size_t end = std::min(list.find(separator, start), list.size());
    parts.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace roost::cli

// Times as people write them: "20ms", "500us", "1s", "1.5ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace roost::cli {

// A number, which may have decimals, with its unit: ns, us, ms or s. Nothing if it is anything
// else, no whole number of nanoseconds, or too much for the type.
std::optional<Nanoseconds> parse_duration(std::string_view text);

// The shortest exact form with a whole number: 20000000 is "20ms".
std::string format_duration(Nanoseconds ns);

}  // namespace roost::cli

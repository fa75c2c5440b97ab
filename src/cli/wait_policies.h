// The variables that make parallel runtimes wait by blocking or yielding instead of spinning.
#pragma once

#include "cli/lookup.h"

namespace roost::cli {

// What to set so that runtimes wait passively (USF section 5.2), without anything that the user has
// said, either for a variable itself or for one that governs it.
Assignments passive_waits(const Lookup&);

}  // namespace roost::cli

// The variables that make parallel runtimes wait by blocking or yielding instead of spinning.
#pragma once

#include "cli/lookup.h"

namespace roost::cli {

// What to set so that runtimes wait passively (USF section 5.2), without anything that the user has
// said, either for a variable itself or for one that governs it.
//
// The last one, ROOST_WAIT_SET, names those we set, here or in a `roost run` around: Roost's own
// OpenMP runtime, which waits as Roost does, heeds only what the user said.
Assignments passive_waits(const Lookup&);

}  // namespace roost::cli

// What `roost run --stats` prints when a process ends.
#pragma once

#include "segment/segment.h"

namespace roost {

// One line on standard error: grants, switches, yields, migrations, watchdog rescues of this
// process.
void print_stats(const Segment&);

}  // namespace roost

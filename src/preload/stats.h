// What `roost run --stats` prints when a process ends.
#pragma once

#include "segment/segment.h"

namespace roost {

// When the process starts: keeps a descriptor for what standard error is now.
void keep_standard_error();

// One line there: grants, switches, yields, migrations, watchdog rescues of this process.
void print_stats(const Segment&);

}  // namespace roost

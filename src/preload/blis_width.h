// How many threads a call of BLIS takes: as many as there are cores for, where results are the
// same.
#pragma once

namespace roost {

// In a fork's child: others that were looking at a BLIS are not there.
void blis_width_after_fork();

}  // namespace roost

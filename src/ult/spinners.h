// Threads that wait by spinning outside all regions, as for a lock that a library takes around each
// of its regions (OpenBLAS's OpenMP build): their cores can do work of regions meanwhile.
#pragma once

#include "ult/carrier.h"

namespace roost::ult {

// By the spinning thread, now and then (ROOST_LIGHT_THREAD_SPINS). Null if it is no carrier.
void note_spinner(Carrier* own);

}  // namespace roost::ult

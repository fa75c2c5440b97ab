// Handles of roost/roost.h, for the files that serve it.
#pragma once

#include "base/types.h"
#include "roost/roost.h"

namespace roost {

// The record a handle names; false if it names no attached thread (any more).
bool find_handle(roost_thread handle, ThreadIndex& index);

}  // namespace roost

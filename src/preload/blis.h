// BLIS in the process: which object it is.
#pragma once

#include <dlfcn.h>

namespace roost {

// Whether the object is BLIS, under its own name or as the BLAS of a distribution. Any thread;
// takes no lock of the dynamic linker's.
bool is_blis(const dl_find_object& object);

}  // namespace roost

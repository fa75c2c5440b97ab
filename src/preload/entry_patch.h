// Leads the calls of a function in a loaded object to one of Roost's.
#pragma once

namespace roost {

// Writes a jump to `replacement` over the entry of `function`, which no thread may be executing,
// nor about to. False, and nothing changed, if that is not possible. Any thread; takes the dynamic
// linker's lock.
bool patch_entry(const void* function, const void* replacement);

// How to call the function as it was; null if its entry does not lead to `replacement`.
const void* unpatched_entry(const void* function, const void* replacement);

}  // namespace roost

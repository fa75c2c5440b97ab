// Leads the calls of a function in a loaded object to one of Roost's.
#pragma once

namespace roost {

struct EntryPatch {
  const void* function;
  const void* replacement;
  const void* behind = nullptr;  // the function as it was, callable; null: it is unchanged
};
// Writes jumps to the replacements over the entries of functions near each other, which no thread
// may be executing, nor about to. Any thread; takes the dynamic linker's lock.
void patch_entries(EntryPatch* patches, unsigned n);

// `behind` of a function that may have been patched before; null if its entry does not lead to
// `replacement`.
const void* unpatched_entry(const void* function, const void* replacement);

}  // namespace roost

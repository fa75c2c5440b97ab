// Follows the thread from pause to pause.
#include "spin/pauses.h"

#include "spin/code_cache.h"
#include "spin/walker.h"

namespace roost::spin {

std::uint64_t find_pause(const Registers& start, const Reader& reader, unsigned steps) {
  constexpr unsigned kMost = 4;  // that one round may have
  std::uint64_t met[kMost];
  unsigned n_met = 0;
  ShadowMemory memory(reader.bytes);
  BasicWalker<CodeCache> walk(start, reader.code, memory);
  for (unsigned i = 0; i < steps && walk.step(); ++i) {
    if (!walk.instruction().pauses) continue;
    for (unsigned k = 0; k < n_met; ++k)
      if (met[k] == walk.from()) return met[k];
    if (n_met < kMost) met[n_met++] = walk.from();
  }
  return 0;
}

}  // namespace roost::spin

// Removes the segment of an instance that nobody uses.
#pragma once

#include <string>

namespace roost::cli {

// 1: removed; 0: somebody alive uses it; else -errno or a SegmentError, and it is kept. A segment
// that cannot be read is removed only if no process has it mapped.
int clean_segment(const std::string& path);

// Removes this user's instances whose processes were all killed, and says nothing: names like a
// job's do not come again, so nobody would start them afresh.
void clean_left_over_segments();

}  // namespace roost::cli

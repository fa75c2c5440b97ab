// The CPU quota that cgroups put on the calling process.
#pragma once

namespace roost {

// The smallest CPU quota (v2 cpu.max, v1 cpu.cfs_quota_us) on the way from the process's cgroup up
// to the root, rounded up to whole cores; 0 if there is none or it cannot be read. `root` is "" but
// in tests, where proc/self and the mount points lie under it.
unsigned cpu_quota(const char* root);

}  // namespace roost

// The smallest quota on the way up is found, whatever the container makes of the hierarchy.
#include "topo/quota.h"

#include <gtest/gtest.h>

#include <string>

#include "base/root_test.h"

namespace roost {
namespace {

class FakeCgroups : public TestRoot {
 public:
  FakeCgroups(const std::string& own, const std::string& mounts) {
    write("proc/self/cgroup", own);
    write("proc/self/mountinfo", mounts);
  }
  void v2(const std::string& folder, const std::string& quota) const {
    write(folder + "/cpu.max", quota + "\n");
  }
  void v1(const std::string& folder, const std::string& quota, const std::string& period) const {
    write(folder + "/cpu.cfs_quota_us", quota + "\n");
    write(folder + "/cpu.cfs_period_us", period + "\n");
  }
  unsigned quota() const { return cpu_quota(path()); }
};

const char* const kV2Mount =
    "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
const char* const kV1Mount =
    "24 23 0:21 / /sys rw - sysfs sysfs rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

TEST(Quota, v2_is_rounded_up_to_cores) {
  FakeCgroups cgroups("0::/user.slice/app\n", kV2Mount);
  cgroups.v2("sys/fs/cgroup/user.slice/app", "150000 100000");
  EXPECT_EQ(cgroups.quota(), 2u);
  cgroups.v2("sys/fs/cgroup/user.slice/app", "1000 100000");
  EXPECT_EQ(cgroups.quota(), 1u);
  cgroups.v2("sys/fs/cgroup/user.slice/app", "400000 100000");
  EXPECT_EQ(cgroups.quota(), 4u);
}

TEST(Quota, max_is_none) {
  FakeCgroups cgroups("0::/app\n", kV2Mount);
  cgroups.v2("sys/fs/cgroup/app", "max 100000");
  EXPECT_EQ(cgroups.quota(), 0u);
}

TEST(Quota, the_smallest_on_the_way_up_counts) {
  FakeCgroups cgroups("0::/a/b/c\n", kV2Mount);
  cgroups.v2("sys/fs/cgroup/a/b/c", "800000 100000");
  cgroups.v2("sys/fs/cgroup/a/b", "max 100000");
  cgroups.v2("sys/fs/cgroup/a", "300000 100000");
  cgroups.v2("sys/fs/cgroup/other", "100000 100000");
  EXPECT_EQ(cgroups.quota(), 3u);
}

TEST(Quota, v1_is_read_from_the_cpu_controllers_hierarchy) {
  FakeCgroups cgroups("5:cpuset:/set\n4:cpu,cpuacct:/job/step\n1:name=systemd:/\n", kV1Mount);
  cgroups.v1("sys/fs/cgroup/cpu,cpuacct/job/step", "-1", "100000");
  cgroups.v1("sys/fs/cgroup/cpu,cpuacct/job", "250000", "50000");
  cgroups.v1("sys/fs/cgroup/cpuset/set", "50000", "50000");
  EXPECT_EQ(cgroups.quota(), 5u);
}

TEST(Quota, both_versions_at_once_give_the_smaller) {
  FakeCgroups cgroups("2:cpu:/job\n0::/app\n", std::string(kV1Mount) + kV2Mount);
  cgroups.v1("sys/fs/cgroup/cpu,cpuacct/job", "600000", "100000");
  cgroups.v2("sys/fs/cgroup/app", "200000 100000");
  EXPECT_EQ(cgroups.quota(), 2u);
}

TEST(Quota, a_mount_that_shows_a_subtree_is_understood) {
  FakeCgroups cgroups("4:cpu:/docker/0123/inner\n",
                      "33 31 0:30 /docker/0123 /cgroup rw - cgroup cgroup rw,cpu\n");
  cgroups.v1("cgroup", "300000", "100000");
  cgroups.v1("cgroup/inner", "200000", "100000");
  EXPECT_EQ(cgroups.quota(), 2u);
}

TEST(Quota, a_cgroup_that_the_mount_does_not_show_counts_as_its_top) {
  FakeCgroups cgroups("0::/../../elsewhere\n", kV2Mount);
  cgroups.v2("sys/fs/cgroup", "300000 100000");
  EXPECT_EQ(cgroups.quota(), 3u);
}

TEST(Quota, mount_points_with_blanks_are_found) {
  FakeCgroups cgroups("0::/app\n", "30 25 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  cgroups.v2("my groups/app", "200000 100000");
  EXPECT_EQ(cgroups.quota(), 2u);
}

TEST(Quota, nonsense_and_missing_files_are_none) {
  EXPECT_EQ(TestRoot().path() ? cpu_quota("/no/such/root") : 1, 0u);
  FakeCgroups cgroups("nonsense\n::\n0::/app\n", "nonsense\n1 2 3\n - \n" + std::string(kV2Mount));
  EXPECT_EQ(cgroups.quota(), 0u);
  for (const char* text : {"", "many", "100000", "0 100000", "100000 0", "1 x", "-5 10"}) {
    cgroups.v2("sys/fs/cgroup/app", text);
    EXPECT_EQ(cgroups.quota(), 0u) << text;
  }
}

}  // namespace
}  // namespace roost

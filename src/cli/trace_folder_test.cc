// Folders of rings go, whoever still makes rings in them.
#include "cli/trace_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace roost::cli {
namespace {

bool listed(const std::string& path) {
  std::vector<std::string> paths = own_ring_folders();
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& each) { return each.starts_with(path); });
}

// Until the folder has gone, as threads of a program do that outlives its recording.
void make_rings(const std::string& folder, int maker) {
  for (int i = 0;; ++i) {
    std::string ring = fmt::format("{}/{}-{}", folder, maker, i);
    int fd = open(ring.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return;
    close(fd);
  }
}

std::string killed_recording() {
  std::string path = fmt::format("/dev/shm/roost.trace-{}-XXXXXX", geteuid());
  return mkdtemp(path.data()) ? path : "";
}

TEST(RingFolder, goes_with_its_recording) {
  std::string path;
  {
    RingFolder folder;
    path = folder.path();
    EXPECT_EQ(clean_ring_folder(path), 0);
    EXPECT_TRUE(listed(path));
  }
  EXPECT_FALSE(listed(path));
  EXPECT_EQ(clean_ring_folder(path), -ENOENT);
}

TEST(RingFolder, is_cleaned_while_programs_make_rings) {
  for (int round = 0; round < 20; ++round) {
    std::string path = killed_recording();
    ASSERT_NE(path, "");
    std::vector<std::thread> makers;
    for (int maker = 0; maker < 2; ++maker) makers.emplace_back(make_rings, path, maker);
    std::this_thread::yield();
    EXPECT_EQ(clean_ring_folder(path), 1);
    for (std::thread& maker : makers) maker.join();
    EXPECT_FALSE(listed(path));
  }
}

}  // namespace
}  // namespace roost::cli

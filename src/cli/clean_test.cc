// What nobody uses is removed, everything else stays.
#include "cli/clean.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "segment/instance_test.h"

namespace roost::cli {
namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
}

TEST(Clean, keeps_an_instance_in_use) {
  TestInstance instance;
  Member member(instance);
  EXPECT_EQ(clean_segment(instance.path()), 0);
  EXPECT_TRUE(instance.exists());
}

TEST(Clean, removes_an_instance_whose_processes_are_gone) {
  TestInstance instance;
  Member member(instance);
  member.segment.processes[member.index].start_time ^= 1;  // of a process before us
  segment_unmap(member.segment);
  EXPECT_EQ(clean_segment(instance.path()), 1);
  EXPECT_FALSE(instance.exists());
}

TEST(Clean, removes_what_a_creator_left_that_died_at_once) {
  TestInstance instance;
  write_file(instance.path(), "");
  EXPECT_EQ(clean_segment(instance.path()), 1);
  EXPECT_FALSE(instance.exists());
}

TEST(Clean, removes_a_damaged_segment_that_nobody_has_mapped) {
  TestInstance instance;
  write_file(instance.path(), std::string(100'000, 'x'));
  EXPECT_EQ(clean_segment(instance.path()), 1);
  EXPECT_FALSE(instance.exists());
}

TEST(Clean, keeps_a_damaged_segment_that_somebody_has_mapped) {
  TestInstance instance;
  write_file(instance.path(), std::string(100'000, 'x'));
  int fd = open(instance.path(), O_RDWR);
  ASSERT_GE(fd, 0);
  void* mapped = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(fd);
  EXPECT_EQ(clean_segment(instance.path()), kSegmentBadMagic);
  EXPECT_TRUE(instance.exists());
  munmap(mapped, 4096);
}

TEST(Clean, does_not_touch_what_is_no_file_of_ours) {
  TestInstance instance;
  ASSERT_EQ(symlink("/dev/null", instance.path()), 0);
  EXPECT_EQ(clean_segment(instance.path()), -ELOOP);
  TestInstance none;
  EXPECT_EQ(clean_segment(none.path()), -ENOENT);
}

}  // namespace
}  // namespace roost::cli

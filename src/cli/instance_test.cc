// Segments are found by name, and what is wrong with one is said without touching it.
#include "cli/instance.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "segment/instance_test.h"

namespace roost::cli {
namespace {

TEST(Instance, is_found_by_its_name_while_it_exists) {
  TestInstance instance;
  auto found = [&] {
    auto paths = own_segments();
    return std::find(paths.begin(), paths.end(), instance.path()) != paths.end();
  };
  EXPECT_FALSE(found());
  Member member(instance);
  EXPECT_TRUE(found());
  EXPECT_EQ(instance_name(instance.path()), instance.config().instance);
  EXPECT_EQ(instance_path(instance.config().instance), instance.path());
  member.leave();
  EXPECT_FALSE(found());
}

TEST(Instance, can_be_opened_beside_its_processes) {
  TestInstance instance;
  EXPECT_EQ(open_instance(instance.path(), false).error, -ENOENT);
  Member member(instance);
  OpenedInstance opened = open_instance(instance.path(), false);
  ASSERT_TRUE(opened.segment);
  EXPECT_TRUE(segment_in_use(**opened.segment));
}

TEST(Instance, that_is_an_empty_file_is_neither_a_segment_nor_an_error) {
  TestInstance instance;
  std::ofstream(instance.path()).flush();
  ASSERT_EQ(chmod(instance.path(), 0600), 0);
  OpenedInstance opened = open_instance(instance.path(), false);
  EXPECT_EQ(opened.error, 0);
  EXPECT_FALSE(opened.segment);
}

TEST(Instance, that_is_not_as_it_should_be_is_refused) {
  TestInstance instance;
  Member member(instance);
  ASSERT_EQ(chmod(instance.path(), 0644), 0);
  EXPECT_EQ(open_instance(instance.path(), false).error, kSegmentWrongMode);
  TestInstance link;
  ASSERT_EQ(symlink(instance.path(), link.path()), 0);
  EXPECT_EQ(open_instance(link.path(), false).error, -ELOOP);
  ASSERT_EQ(chmod(instance.path(), 0600), 0);
  member.segment.header->abi_version = 9999;
  EXPECT_EQ(open_instance(instance.path(), false).error, kSegmentOtherVersion);
  member.segment.header->abi_version = kAbiVersion;
}

}  // namespace
}  // namespace roost::cli

// The library is named once, first, and only if it is there.
#include "cli/library.h"

#include <gtest/gtest.h>

#include "base/root_test.h"
#include "cli/error.h"

namespace roost::cli {
namespace {

std::string found(const std::string& named) {
  return find_library([&](const std::string&) { return named.c_str(); });
}

TEST(Library, is_first_and_once_in_the_preload_list) {
  EXPECT_EQ(preload_list({"/r.so"}, nullptr), "/r.so");
  EXPECT_EQ(preload_list({"/r.so"}, ""), "/r.so");
  EXPECT_EQ(preload_list({"/r.so"}, "/a.so /b.so"), "/r.so:/a.so:/b.so");
  EXPECT_EQ(preload_list({"/r.so"}, "/a.so:/r.so::/b.so"), "/r.so:/a.so:/b.so");
}

TEST(Library, may_be_two) {
  EXPECT_EQ(preload_list({"/r.so", "/o.so"}, nullptr), "/r.so:/o.so");
  EXPECT_EQ(preload_list({"/r.so", "/o.so"}, "/a.so:/o.so"), "/r.so:/o.so:/a.so");
  EXPECT_EQ(preload_list_without({"/r.so", "/o.so"}, "/r.so:/o.so"), "");
}

TEST(Library, of_openmp_lies_beside_it) {
  TestRoot root;
  root.write("libroost.so", "");
  EXPECT_THROW(openmp_library(root.file("libroost.so")), Failure);
  root.write("libgomp_roost.so", "");
  EXPECT_EQ(openmp_library(root.file("libroost.so")), root.file("libgomp_roost.so"));
}

TEST(Library, named_by_the_user_is_taken_if_it_can_be_read) {
  TestRoot root;
  root.write("lib.so", "");
  EXPECT_EQ(found(root.file("lib.so")), root.file("lib.so"));
  EXPECT_THROW(found(root.file("none.so")), Failure);
}

TEST(Library, whose_path_ld_preload_cannot_name_is_refused) {
  TestRoot root;
  root.write("a b/lib.so", "");
  EXPECT_THROW(found(root.file("a b/lib.so")), Failure);
}

}  // namespace
}  // namespace roost::cli

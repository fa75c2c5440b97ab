// What can be read of the process's own memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "os/sys.h"

namespace roost::os {
namespace {

constexpr std::uint64_t kPage = 4096;

TEST(MemoryTest, Ends_where_a_page_cannot_be_read) {
  constexpr std::uint64_t kPages = 40;
  void* pages = mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto begin = reinterpret_cast<std::uint64_t>(pages), end = begin + kPages * kPage;
  EXPECT_EQ(end_of_readable(begin, end), end);
  EXPECT_EQ(end_of_readable(begin + 8, begin + 16), begin + 16);
  EXPECT_EQ(end_of_readable(begin, begin), begin);
  for (std::uint64_t closed : {1, 15, 16, 17, 39}) {
    void* page = reinterpret_cast<void*>(begin + closed * kPage);
    ASSERT_EQ(mprotect(page, kPage, PROT_NONE), 0);
    EXPECT_EQ(end_of_readable(begin + 8, end), begin + closed * kPage);
    EXPECT_EQ(end_of_readable(begin + closed * kPage + 8, end), begin + closed * kPage + 8);
    ASSERT_EQ(mprotect(page, kPage, PROT_READ), 0);
  }
  munmap(pages, kPages * kPage);
}

}  // namespace
}  // namespace roost::os

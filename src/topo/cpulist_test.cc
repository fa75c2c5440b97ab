// CPU lists survive a round trip, and errors name the place.
#include "topo/cpulist.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace roost {
namespace {

CpuSet set_of(const std::set<unsigned>& cpus) {
  CpuSet set;
  for (unsigned cpu : cpus) set.set(cpu);
  return set;
}

CpuSet parsed(const char* list) {
  CpuSet cpus;
  ErrorText error;
  EXPECT_EQ(parse_cpulist(list, cpus, error), 0) << error.c_str();
  return cpus;
}

std::string complaint(const char* list, int expected = -EINVAL) {
  CpuSet cpus;
  ErrorText error;
  EXPECT_EQ(parse_cpulist(list, cpus, error), expected) << list;
  return error.c_str();
}

auto any_cpus() { return rc::gen::container<std::set<unsigned>>(rc::gen::inRange(0u, kMaxCores)); }

TEST(CpuList, reads_numbers_and_ranges) {
  EXPECT_EQ(parsed("0-3,8,10-11"), set_of({0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parsed("1023"), set_of({1023}));
  EXPECT_EQ(parsed("5,1,5-5"), set_of({1, 5}));
}

TEST(CpuList, reads_the_kernels_files_with_their_newline) {
  EXPECT_EQ(parsed("0-1\n"), set_of({0, 1}));
  EXPECT_EQ(parsed("\n"), CpuSet{});
  EXPECT_EQ(parsed(""), CpuSet{});
}

TEST(CpuList, errors_name_the_place) {
  EXPECT_EQ(complaint("0-x"), "'x' does not start with a CPU number");
  EXPECT_EQ(complaint("0,,1"), "',1' does not start with a CPU number");
  EXPECT_EQ(complaint("0-"), "a CPU number is missing at the end");
  EXPECT_EQ(complaint("3,"), "a CPU number is missing at the end");
  EXPECT_EQ(complaint("0 1"), "'1' stands where ',' should be");
  EXPECT_EQ(complaint("0x1"), "'x1' stands where ',' should be");
  EXPECT_EQ(complaint("4-2"), "'4-2' runs backwards");
  EXPECT_EQ(complaint("-1"), "'-1' does not start with a CPU number");
  EXPECT_EQ(complaint("0-1024", -ERANGE), "'1024' is beyond the highest CPU number, 1023");
  EXPECT_EQ(complaint("99999999999999999999", -ERANGE),
            "'99999999999999999999' is beyond the highest CPU number, 1023");
}

TEST(CpuList, an_error_stays_short_whatever_the_list) {
  std::string list(100'000, 'x');
  EXPECT_LT(complaint(list.c_str()).size(), 100u);
}

TEST(CpuList, writes_the_longest_ranges) {
  EXPECT_STREQ(format_cpulist(set_of({0, 1, 2, 3, 8, 10, 11})).c_str(), "0-3,8,10-11");
  EXPECT_STREQ(format_cpulist({}).c_str(), "");
}

TEST(CpuList, any_set_fits_the_text) {
  CpuSet sparse;
  for (unsigned cpu = 1; cpu < kMaxCores; cpu += 2) sparse.set(cpu);
  CpuListText text = format_cpulist(sparse);
  EXPECT_FALSE(text.cut());
  EXPECT_EQ(parsed(text.c_str()), sparse);
  EXPECT_LT(brief_cpulist(sparse).length(), 96u);
  EXPECT_STREQ(brief_cpulist(sparse).c_str() + 80, "...");
}

RC_GTEST_PROP(CpuList, reads_what_it_wrote, ()) {
  CpuSet cpus = set_of(*any_cpus());
  CpuSet again;
  ErrorText error;
  RC_ASSERT(parse_cpulist(format_cpulist(cpus).c_str(), again, error) == 0);
  RC_ASSERT(again == cpus);
}

RC_GTEST_PROP(CpuList, any_text_is_read_or_refused_with_a_sentence, ()) {
  auto text = *rc::gen::container<std::string>(rc::gen::element('0', '1', '9', '-', ',', ' ', 'x'));
  CpuSet cpus;
  ErrorText error;
  int result = parse_cpulist(text.c_str(), cpus, error);
  RC_ASSERT((result == 0) == (error.length() == 0));
}

RC_GTEST_PROP(CpuSet, holds_what_a_set_of_numbers_holds, ()) {
  auto model = *any_cpus();
  CpuSet cpus = set_of(model);
  RC_ASSERT(cpus.count() == model.size());
  auto expected = model.begin();
  for (unsigned cpu = cpus.first(); cpu < kMaxCores; cpu = cpus.next(cpu)) {
    RC_ASSERT(expected != model.end());
    RC_ASSERT(cpu == *expected++);
    RC_ASSERT(cpus.test(cpu));
    cpus.clear(cpu);
  }
  RC_ASSERT(expected == model.end());
  RC_ASSERT(cpus == CpuSet{});
}

TEST(CpuSet, ignores_numbers_beyond_its_end) {
  CpuSet cpus;
  cpus.set(kMaxCores);
  cpus.clear(kMaxCores + 7);
  EXPECT_EQ(cpus, CpuSet{});
  EXPECT_FALSE(cpus.test(kMaxCores));
}

}  // namespace
}  // namespace roost

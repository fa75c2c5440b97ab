// Times survive a round trip; what has no unit is refused.
#include "cli/duration.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace roost::cli {
namespace {

TEST(Duration, reads_a_number_with_a_unit) {
  EXPECT_EQ(parse_duration("20ms"), 20'000'000u);
  EXPECT_EQ(parse_duration("500us"), 500'000u);
  EXPECT_EQ(parse_duration("1s"), 1'000'000'000u);
  EXPECT_EQ(parse_duration("0ns"), 0u);
  EXPECT_EQ(parse_duration("1.5ms"), 1'500'000u);
  EXPECT_EQ(parse_duration("0.000000001s"), 1u);
  EXPECT_EQ(parse_duration("1.50ns"), std::nullopt);
  EXPECT_EQ(parse_duration("1.0ns"), 1u);
}

TEST(Duration, refuses_everything_else) {
  for (const char* text :
       {"", "20", "ms", "20 ms", "20m", "-1s", "+1s", "1.s", ".5s", "1.5.5s", "1e3s", "20msx",
        "0.5ns", "99999999999999999999s", "18446744073709551615s"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Duration, writes_the_largest_unit_that_is_exact) {
  EXPECT_EQ(format_duration(20'000'000), "20ms");
  EXPECT_EQ(format_duration(1'500'000), "1500us");
  EXPECT_EQ(format_duration(2'000'000'000), "2s");
  EXPECT_EQ(format_duration(0), "0ns");
}

RC_GTEST_PROP(Duration, reads_what_it_wrote, ()) {
  auto number = *rc::gen::inRange<Nanoseconds>(0, 1'000'000'000'000);
  auto unit = *rc::gen::element<Nanoseconds>(1, 1'000, 1'000'000);
  RC_ASSERT(parse_duration(format_duration(number * unit)) == number * unit);
}

}  // namespace
}  // namespace roost::cli

// Values of environment variables, right and wrong.
#include "omp/env_parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace roost::omp::parse {
namespace {

TEST(EnvParse, IntegersAreWholeAndInRange) {
  std::int64_t value = -7;
  EXPECT_TRUE(integer(" 12 ", 0, 100, value));
  EXPECT_EQ(value, 12);
  for (const char* text : {"", "x", "12x", "1 2", "-1", "101", "99999999999999999999", "0x10"})
    EXPECT_FALSE(integer(text, 0, 100, value)) << text;
  EXPECT_EQ(value, 12);
}

TEST(EnvParse, BooleansHaveManyNamesOfEitherCase) {
  bool value = false;
  for (const char* text : {"true", " TRUE ", "Yes", "on", "1"}) {
    value = false;
    EXPECT_TRUE(boolean(text, value) && value) << text;
  }
  for (const char* text : {"false", "No", "OFF", "0"}) {
    value = true;
    EXPECT_TRUE(boolean(text, value) && !value) << text;
  }
  EXPECT_FALSE(boolean("truely", value));
  EXPECT_FALSE(boolean("", value));
}

TEST(EnvParse, SizesCountInTheUnitOfTheVariable) {
  std::size_t value = 0;
  EXPECT_TRUE(bytes("512", 1024, value));
  EXPECT_EQ(value, 512u * 1024);
  EXPECT_TRUE(bytes(" 4 m ", 1024, value));
  EXPECT_EQ(value, 4u << 20);
  EXPECT_TRUE(bytes("100b", 1024, value));
  EXPECT_EQ(value, 100u);
  EXPECT_TRUE(bytes("2GB", 1, value));
  EXPECT_EQ(value, std::size_t{2} << 30);
  for (const char* text : {"", "K", "-1K", "0", "1X", "1KK", "99999999999T"})
    EXPECT_FALSE(bytes(text, 1024, value)) << text;
}

TEST(EnvParse, TurnsMayHaveALetterBehindThem) {
  std::int64_t value = 0;
  EXPECT_TRUE(turns(" 30 k ", value));
  EXPECT_EQ(value, 30'000);
  EXPECT_TRUE(turns("2M", value));
  EXPECT_EQ(value, 2'000'000);
  EXPECT_TRUE(turns("0", value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(turns("Infinity", value));
  EXPECT_GT(value, std::int64_t{1} << 60);
  EXPECT_TRUE(turns("9999999999999T", value));
  EXPECT_GT(value, std::int64_t{1} << 60);
  value = 7;
  for (const char* text : {"", "x", "-1", "3x", "3kk", "1.5"})
    EXPECT_FALSE(turns(text, value)) << text;
  EXPECT_EQ(value, 7);
}

TEST(EnvParse, CpuAffinitiesAreRangesPerhapsWithAStride) {
  for (const char* text : {"0", "0 3 1-2 4-15:2", "0,1,2-3", " 5 "})
    EXPECT_TRUE(is_cpu_affinity(text)) << text;
  for (const char* text : {"", "x", "0 x", "3-1", "1-", "1-4:0", "1-4:", "-1"})
    EXPECT_FALSE(is_cpu_affinity(text)) << text;
}

TEST(EnvParse, AffinitiesOfLlvmAreModifiersAndAType) {
  for (const char* text : {"compact", "granularity=fine,compact,1,0", "verbose,none", "disabled",
                           "gran=core,SCATTER", "granularity=fine,proclist=[0,3,{1-2}],explicit",
                           "noverbose,warnings,respect,granularity=2,balanced"})
    EXPECT_TRUE(is_kmp_affinity(text)) << text;
  for (const char* text : {"", "foo", "compact,", "granularity", "granularity=huge,compact",
                           "proclist=0,explicit", "proclist=[0,explicit", "compact;1"})
    EXPECT_FALSE(is_kmp_affinity(text)) << text;
}

TEST(EnvParse, DurationsAreMillisecondsUnlessTheySay) {
  std::int64_t value = 0;
  EXPECT_TRUE(duration("200", value));
  EXPECT_EQ(value, 200'000'000);
  EXPECT_TRUE(duration("50us", value));
  EXPECT_EQ(value, 50'000);
  EXPECT_TRUE(duration(" 2 s", value));
  EXPECT_EQ(value, 2'000'000'000);
  EXPECT_TRUE(duration("infinite", value));
  EXPECT_EQ(value, 0x7fff'ffff'ffff'ffff);
  EXPECT_TRUE(duration("2147483647", value));
  EXPECT_EQ(value, 0x7fff'ffff'ffff'ffff);
  EXPECT_FALSE(duration("-1", value));
  EXPECT_FALSE(duration("1h", value));
}

TEST(EnvParse, ListsOfThreadCounts) {
  std::int32_t values[3] = {};
  int count = 0;
  EXPECT_TRUE(counts(" 8, 2 ,1", values, 3, count));
  EXPECT_EQ(count, 3);
  EXPECT_EQ(values[0], 8);
  EXPECT_EQ(values[2], 1);
  EXPECT_TRUE(counts("1,2,3,4,5", values, 3, count));
  EXPECT_EQ(count, 3);
  for (const char* text : {"", "0", "4,", ",4", "4;2", "4,-1", "4,x"})
    EXPECT_FALSE(counts(text, values, 3, count)) << text;
  EXPECT_EQ(values[1], 2);
}

TEST(EnvParse, BindingIsABooleanOrAList) {
  Bind values[4] = {};
  int count = 0;
  EXPECT_TRUE(binds("TRUE", values, 4, count));
  EXPECT_EQ(values[0], Bind::yes);
  EXPECT_TRUE(binds("spread, master,close", values, 4, count));
  EXPECT_EQ(count, 3);
  EXPECT_EQ(values[1], Bind::primary);
  EXPECT_FALSE(binds("spread,true", values, 4, count));
  EXPECT_FALSE(binds("near", values, 4, count));
}

TEST(EnvParse, SchedulesHaveAModifierAKindAndAChunk) {
  ScheduleValue value;
  EXPECT_TRUE(schedule("dynamic", value));
  EXPECT_EQ(value.kind, Schedule::dynamic);
  EXPECT_EQ(value.chunk, 0);
  EXPECT_TRUE(schedule(" Monotonic : Guided , 7 ", value));
  EXPECT_TRUE(value.monotonic);
  EXPECT_EQ(value.kind, Schedule::guided);
  EXPECT_EQ(value.chunk, 7);
  EXPECT_TRUE(schedule("nonmonotonic:static,3", value));
  EXPECT_FALSE(value.monotonic);
  for (const char* text :
       {"", "guided,0", "guided,", "monotonic", "monotonic:", "guided 4", "static,1,2"})
    EXPECT_FALSE(schedule(text, value)) << text;
  EXPECT_EQ(value.chunk, 3);
}

TEST(EnvParse, AllocatorsAreNamedOrDescribed) {
  AllocatorValue value;
  EXPECT_TRUE(allocator("omp_high_bw_mem_alloc", value));
  EXPECT_EQ(value.allocator, 4u);
  EXPECT_TRUE(allocator("omp_large_cap_mem_space:alignment=64, fallback=null_fb", value));
  EXPECT_EQ(value.allocator, 0u);
  EXPECT_EQ(value.space, 1u);
  ASSERT_EQ(value.n_traits, 2);
  EXPECT_EQ(value.traits[0].key, 2);
  EXPECT_EQ(value.traits[0].value, 64u);
  EXPECT_EQ(value.traits[1].value, 12u);
  for (const char* text : {"", "malloc", "omp_default_mem_space:", "omp_default_mem_space:size=1"})
    EXPECT_FALSE(allocator(text, value)) << text;
}

class Places : public testing::Test {
 protected:
  Places() {
    table.cpus = cpus;
    table.cpus_room = 64;
    table.begins = begins;
    table.room = 16;
  }
  // The places as {0,1},{2}; empty if the text is malformed.
  std::string read(const char* text) {
    table.count = 0;
    if (!places(text, kind, wanted, table)) return "";
    std::string result;
    for (unsigned i = 0; i < table.count; ++i) {
      result += i ? ",{" : "{";
      for (unsigned k = begins[i]; k < begins[i + 1]; ++k)
        result += (k > begins[i] ? "," : "") + std::to_string(cpus[k]);
      result += "}";
    }
    return result;
  }
  std::uint16_t cpus[64] = {};
  std::uint32_t begins[17] = {};
  PlaceTable table;
  PlaceKind kind = PlaceKind::listed;
  unsigned wanted = 0;
};

TEST_F(Places, AreNamed) {
  EXPECT_TRUE(places(" Cores ( 4 ) ", kind, wanted, table));
  EXPECT_EQ(kind, PlaceKind::cores);
  EXPECT_EQ(wanted, 4u);
  EXPECT_TRUE(places("numa_domains", kind, wanted, table));
  EXPECT_EQ(kind, PlaceKind::numa_domains);
  EXPECT_EQ(wanted, 0u);
  EXPECT_FALSE(places("cores()", kind, wanted, table));
  EXPECT_FALSE(places("cores(0)", kind, wanted, table));
}

TEST_F(Places, AreListed) {
  EXPECT_EQ(read("{0,1},{ 2 , 3 }"), "{0,1},{2,3}");
  EXPECT_EQ(read("{0:4:2}"), "{0,2,4,6}");
  EXPECT_EQ(read("{0:2}:3:4"), "{0,1},{4,5},{8,9}");
  EXPECT_EQ(read("{0:2}:2"), "{0,1},{1,2}");
  EXPECT_EQ(read("3,{5}"), "{3},{5}");
  EXPECT_EQ(read("{0:4,!2}"), "{0,1,3}");
  EXPECT_EQ(read("{0}:4:1,!{2}"), "{0},{1},{3}");
  EXPECT_EQ(read("{8}:3:-4"), "{8},{4},{0}");
}

TEST_F(Places, ThatMakeNoSenseAreRefused) {
  for (const char* text : {"", "{", "{}", "{0", "{0}}", "{-1}", "{0:0}", "{0}:0", "{0,}",
                           "{4}:3:-4", "{0:65}", "{0}:17", "somewhere"}) {
    EXPECT_EQ(read(text), "") << text;
    EXPECT_EQ(table.count, 0u) << text;
  }
}

TEST_F(Places, AreGuessedFromWhatIsMalformed) {
  EXPECT_STREQ(nearest_places("sockets("), "sockets");
  EXPECT_STREQ(nearest_places("threads()"), "threads");
  EXPECT_STREQ(nearest_places("socketss"), "cores");
  EXPECT_STREQ(nearest_places("invalid"), "cores");
}

// The subset as "sockets 2, cores 8 from 2"; empty if the text is malformed.
std::string subset(const char* text) {
  HwSubset value;
  if (!hw_subset(text, value)) return "";
  std::string result = value.absolute ? "absolute " : "";
  for (int i = 0; i < value.n; ++i) {
    const SubsetLayer& layer = value.layers[i];
    constexpr const char* kNames[] = {"listed",       "threads", "cores",     "ll_caches",
                                      "numa_domains", "sockets", "l2_caches", "dies"};
    result += std::string(i ? ", " : "") + kNames[static_cast<int>(layer.kind)];
    if (layer.count) result += " " + std::to_string(layer.count);
    if (layer.offset) result += " from " + std::to_string(layer.offset);
  }
  return result;
}

TEST(EnvParse, SubsetsOfTheMachineAreOrdered) {
  EXPECT_EQ(subset("2s,8c@2,1t"), "sockets 2, cores 8 from 2, threads 1");
  EXPECT_EQ(subset(" 1T , 4 Cores , 1 socket "), "sockets 1, cores 4, threads 1");
  EXPECT_EQ(subset("*c,1t"), "cores, threads 1");
  EXPECT_EQ(subset(":1s,3t@1"), "absolute sockets 1, threads 3 from 1");
  EXPECT_EQ(subset("1numa,2l3,2l2"), "numa_domains 1, ll_caches 2, l2_caches 2");
}

TEST(EnvParse, SubsetsThatMakeNoSenseAreRefused) {
  for (const char* text : {"", "0c", "2", "2x", "2c,2cores", "2c@", "2c@-1", "1s,", ":", "2c 1t"})
    EXPECT_EQ(subset(text), "") << text;
}

TEST(EnvParse, CpuListsAreSysfs) {
  auto read = [](const char* text) {
    std::vector<unsigned> found;
    cpu_list(
        text,
        [](void* argument, unsigned cpu) {
          static_cast<std::vector<unsigned>*>(argument)->push_back(cpu);
        },
        &found);
    return found;
  };
  EXPECT_EQ(read("0-3,8\n"), (std::vector<unsigned>{0, 1, 2, 3, 8}));
  EXPECT_EQ(read("5"), (std::vector<unsigned>{5}));
  EXPECT_EQ(read(""), (std::vector<unsigned>{}));
}

}  // namespace
}  // namespace roost::omp::parse

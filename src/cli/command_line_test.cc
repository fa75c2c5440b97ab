// The command's words are the command's, whatever they look like.
#include "cli/command_line.h"

#include <gtest/gtest.h>

namespace roost::cli {
namespace {

using Words = std::vector<std::string>;

class SplitRun : public testing::Test {
 protected:
  SplitRun() {
    run_.add_option("--instance,-i", instance_);
    run_.add_option("--set", set_)->expected(1)->take_all();
    run_.add_flag("--stats", stats_);
  }
  void expect(const Words& words, const Words& options, const Words& command) {
    RunCommandLine line = split_run(run_, words);
    EXPECT_EQ(line.options, options);
    EXPECT_EQ(line.command, command);
  }

  CLI::App run_;
  std::string instance_;
  Words set_;
  bool stats_ = false;
};

TEST_F(SplitRun, ends_at_the_mark) {
  expect({"--stats", "--", "ls", "--stats", "--", "-l"}, {"--stats"},
         {"ls", "--stats", "--", "-l"});
  expect({"--", "--stats"}, {}, {"--stats"});
}

TEST_F(SplitRun, needs_no_mark_before_a_plain_word) {
  expect({"--stats", "ls", "--stats"}, {"--stats"}, {"ls", "--stats"});
  expect({"git", "log", "--", "file"}, {}, {"git", "log", "--", "file"});
}

TEST_F(SplitRun, takes_values_for_values) {
  expect({"--instance", "name", "ls"}, {"--instance", "name"}, {"ls"});
  expect({"--instance=name", "ls"}, {"--instance=name"}, {"ls"});
  expect({"-i", "name", "--set", "a=1", "--set", "b=2", "ls"},
         {"-i", "name", "--set", "a=1", "--set", "b=2"}, {"ls"});
  expect({"--instance", "", "--", "ls"}, {"--instance", ""}, {"ls"});
}

TEST_F(SplitRun, may_find_no_command) {
  expect({}, {}, {});
  expect({"--stats"}, {"--stats"}, {});
  expect({"--stats", "--"}, {"--stats"}, {});
  expect({"--instance"}, {"--instance"}, {});
}

TEST_F(SplitRun, an_empty_word_is_a_command) {
  expect({"--", ""}, {}, {""});
  expect({""}, {}, {""});
}

}  // namespace
}  // namespace roost::cli

// Reading small files whole and long files by line.
#include "os/file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/root_test.h"

namespace roost::os {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  TestRoot root;
  root.write("lines", text);
  LineReader reader(root.file("lines").c_str());
  std::vector<std::string> lines;
  while (char* line = reader.next()) lines.emplace_back(line);
  return lines;
}

TEST(ReadText, gives_the_whole_file_and_its_length) {
  TestRoot root;
  root.write("file", "12\n34\n");
  char text[7];
  EXPECT_EQ(read_text(root.file("file").c_str(), text, sizeof text), 6);
  EXPECT_STREQ(text, "12\n34\n");
}

TEST(ReadText, says_when_the_file_does_not_fit) {
  TestRoot root;
  root.write("file", "123456");
  char text[6];
  EXPECT_EQ(read_text(root.file("file").c_str(), text, sizeof text), -EFBIG);
  EXPECT_STREQ(text, "12345");
}

TEST(ReadText, of_no_file_is_an_error_and_empty_text) {
  TestRoot root;
  char text[6] = "old";
  EXPECT_EQ(read_text(root.file("none").c_str(), text, sizeof text), -ENOENT);
  EXPECT_STREQ(text, "");
}

TEST(LineReader, of_no_file_has_no_lines_and_says_why) {
  LineReader reader("/no/such/file");
  EXPECT_EQ(reader.error(), -ENOENT);
  EXPECT_EQ(reader.next(), nullptr);
}

TEST(LineReader, ends_with_the_last_line_with_or_without_its_newline) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a\n\nb\n"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\nb"), (Lines{"a", "b"}));
}

TEST(LineReader, cuts_long_lines_and_goes_on_with_the_next) {
  auto lines = lines_of(std::string(10'000, 'x') + "\nshort\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], std::string(4095, 'x'));
  EXPECT_EQ(lines[1], "short");
}

RC_GTEST_PROP(LineReader, gives_back_any_lines_up_to_its_buffer, ()) {
  auto lengths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3000));
  std::vector<std::string> lines;
  std::string text;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lines.emplace_back(static_cast<std::size_t>(lengths[i]), static_cast<char>('a' + i % 26));
    text += lines.back() + "\n";
  }
  RC_ASSERT(lines_of(text) == lines);
}

}  // namespace
}  // namespace roost::os

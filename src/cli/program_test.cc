// Commands are found as a shell would find them, and what Roost cannot be loaded into is noticed.
#include "cli/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/root_test.h"
#include "cli/error.h"

namespace roost::cli {
namespace {

class Program : public testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& text, mode_t mode = 0755) {
    root_.write(name, text);
    EXPECT_EQ(chmod(root_.file(name).c_str(), mode), 0);
    return root_.file(name);
  }
  std::string find(const std::string& name) {
    std::string path = root_.file("a") + ":" + root_.file("b");
    return find_program(name, [&](const std::string&) { return path.c_str(); });
  }
  // The exit code and the sentence of a search or check that fails.
  template <class Call>
  std::pair<int, std::string> failure(Call&& call) {
    try {
      call();
    } catch (const Failure& failure) {
      return {failure.code(), failure.what()};
    }
    ADD_FAILURE() << "it succeeded";
    return {};
  }

  TestRoot root_;
};

TEST_F(Program, is_found_in_the_first_folder_of_path_where_it_is_executable) {
  make("a/tool", "", 0644);
  make("b/tool", "");
  EXPECT_EQ(find("tool"), root_.file("b/tool"));
  make("a/tool", "", 0755);
  EXPECT_EQ(find("tool"), root_.file("a/tool"));
}

TEST_F(Program, with_a_slash_is_not_searched_for) {
  std::string path = make("c/tool", "");
  EXPECT_EQ(find(path), path);
}

TEST_F(Program, that_is_missing_gives_127) {
  auto [code, sentence] = failure([&] { find("tool"); });
  EXPECT_EQ(code, kNotFound);
  EXPECT_EQ(sentence, "there is no command 'tool' in the folders of PATH");
  EXPECT_EQ(failure([&] { find(root_.file("none")); }).first, kNotFound);
  EXPECT_EQ(failure([&] { find(""); }).first, kNotFound);
  make("file", "");
  EXPECT_EQ(failure([&] { find(root_.file("file/none")); }).first, kNotFound);
}

TEST_F(Program, that_is_no_program_gives_126) {
  make("a/plain", "", 0644);
  EXPECT_EQ(failure([&] { find("plain"); }).first, kNotExecutable);
  auto [code, sentence] = failure([&] { find(root_.file("a")); });
  EXPECT_EQ(code, kNotExecutable);
  EXPECT_EQ(sentence, "'" + root_.file("a") + "' is a directory, not a program");
}

TEST_F(Program, of_which_only_a_directory_has_the_name_gives_127) {
  make("a/tool/file", "");
  EXPECT_EQ(failure([&] { find("tool"); }).first, kNotFound);
}

TEST_F(Program, that_is_dynamically_linked_is_managed) {
  ProgramCheck check = check_program("/proc/self/exe");
  EXPECT_EQ(check.unmanaged, "");
  EXPECT_TRUE(check.may_preload);
}

TEST_F(Program, that_is_a_script_is_what_its_interpreter_is) {
  EXPECT_EQ(check_program(make("script", "#! /bin/sh -e\nexit 0\n")).unmanaged, "");
  EXPECT_EQ(check_program(make("plain", "echo as in a shell\n")).unmanaged, "");
  auto [code, sentence] = failure([&] { check_program(make("bad", "#!/no/such/sh\n")); });
  EXPECT_EQ(code, kNotFound);
  EXPECT_EQ(sentence, "the script '" + root_.file("bad") +
                          "' names the interpreter '/no/such/sh', which does not exist");
}

TEST_F(Program, whose_interpreter_is_a_directory_gives_126) {
  EXPECT_EQ(failure([&] { check_program(make("bad", "#!/tmp\n")); }).first, kNotExecutable);
}

TEST_F(Program, scripts_that_name_each_other_end) {
  std::string a = make("a/loop", "#!" + root_.file("b/loop") + "\n");
  make("b/loop", "#!" + a + "\n");
  EXPECT_EQ(check_program(a).unmanaged, "");
}

// An ELF header of the machine's own kind with one program header.
std::string elf(unsigned char bits, unsigned type, const std::string& loader) {
  std::string bytes(64 + 56, '\0');
  auto put = [&](std::size_t at, std::size_t size, std::uint64_t value) {
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  bytes.replace(0, 4,
                "\x7f"
                "ELF");
  put(4, 1, bits);
#if defined(__x86_64__)
  put(18, 2, 62);
#else
  put(18, 2, 183);
#endif
  put(32, 8, 64);  // program headers
  put(54, 2, 56);  // their size
  put(56, 2, 1);   // their number
  put(64, 4, type);
  put(72, 8, bytes.size());
  put(96, 8, loader.size() + 1);
  return bytes + loader + '\0';
}

TEST_F(Program, without_a_loader_is_static_and_unmanaged) {
  std::string path = make("static", elf(2, 1, ""));
  ProgramCheck check = check_program(path);
  EXPECT_EQ(check.unmanaged, "'" + path + "' is statically linked");
  EXPECT_TRUE(check.may_preload) << "its children may be managed";
}

TEST_F(Program, of_another_libc_or_word_size_must_not_get_the_library) {
  EXPECT_FALSE(check_program(make("musl", elf(2, 3, "/lib/ld-musl-x86_64.so.1"))).may_preload);
  EXPECT_FALSE(check_program(make("small", elf(1, 3, "/lib/ld-linux.so.2"))).may_preload);
  EXPECT_TRUE(check_program(make("good", elf(2, 3, "/lib64/ld-linux-x86-64.so.2"))).may_preload);
}

TEST_F(Program, with_damaged_headers_passes_for_the_kernel_to_judge) {
  EXPECT_EQ(check_program(make("short",
                               "\x7f"
                               "ELF"))
                .unmanaged,
            "");
  std::string cut = elf(2, 3, "/lib64/ld-linux-x86-64.so.2").substr(0, 80);
  EXPECT_EQ(check_program(make("cut", cut)).unmanaged, "");
}

}  // namespace
}  // namespace roost::cli

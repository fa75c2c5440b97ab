// A root folder with made-up /proc and /sys files, for tests; it goes away with the object.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace roost {

class TestRoot {
 public:
  TestRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "roost-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) ADD_FAILURE() << "no temporary folder " << pattern;
    path_ = pattern;
  }
  ~TestRoot() { std::filesystem::remove_all(path_); }
  TestRoot(const TestRoot&) = delete;
  TestRoot& operator=(const TestRoot&) = delete;

  // Writes <root>/<file> and makes the folders it lies in.
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::path path = path_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const char* path() const { return path_.c_str(); }

 private:
  std::filesystem::path path_;
};

}  // namespace roost

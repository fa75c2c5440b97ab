// Reads a user's TOML file: every mistake names file, line, key and what is allowed there.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roost::sim {

// One sentence for the user.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses `text`; `file` is for messages.
toml::table parse_toml(std::string_view text, const std::string& file);

// The whole of a file. InputError if it cannot be read.
std::string read_file(const std::string& path);

// A table whose keys are asked for one by one. finish() refuses those that nobody asked for.
class TomlReader {
 public:
  // `line` stands for a table that has no place in the file.
  TomlReader(const toml::table& table, std::string file, std::string path = "", unsigned line = 1)
      : table_(&table), file_(std::move(file)), path_(std::move(path)), line_(line) {}

  bool has(std::string_view key) const { return table_->contains(key); }

  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t greatest);
  std::int64_t integer_or(std::string_view key, std::int64_t standard, std::int64_t least,
                          std::int64_t greatest);
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string standard);
  bool flag_or(std::string_view key, bool standard);
  // One of `allowed`; returns its index. Without the key, `standard`, or an error if that is < 0.
  int choice(std::string_view key, const std::vector<std::string_view>& allowed, int standard = -1);
  // An array of integers, and an array of arrays of `width` integers.
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t least,
                                     std::int64_t greatest);
  std::vector<std::vector<std::int64_t>> rows(std::string_view key, std::size_t width,
                                              std::int64_t least, std::int64_t greatest);
  std::vector<std::string> texts(std::string_view key);
  // A sub-table; an empty one if it is not there.
  TomlReader table(std::string_view key);
  // [[key]]
  std::vector<TomlReader> tables(std::string_view key);

  // Refuses keys that were not asked for.
  void finish() const;

  // "FILE:LINE: 'path.key' must be ..., not ..."
  [[noreturn]] void refuse(std::string_view key, const std::string& must) const;
  [[noreturn]] void refuse_table(const std::string& sentence) const;
  const std::string& file() const { return file_; }
  unsigned line() const { return table_->source().begin.line; }
  std::vector<std::string> keys() const;

 private:
  const toml::node* find(std::string_view key);
  std::string full(std::string_view key) const;
  std::int64_t checked(const toml::node& node, std::string_view key, std::int64_t least,
                       std::int64_t greatest, const char* what) const;
  [[noreturn]] void fail(const toml::source_region& where, const std::string& sentence) const;

  const toml::table* table_;
  std::string file_;
  std::string path_;
  unsigned line_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace roost::sim

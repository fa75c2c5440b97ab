// Typed access to TOML with messages that say where and what.
#include "sim/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <sstream>

namespace roost::sim {
namespace {

std::string shown(const toml::node& node) {
  std::ostringstream out;
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  toml::array one;
  one.push_back(node);
  out << one;
  std::string text = out.str();
  return text.size() > 4 ? text.substr(2, text.size() - 4) : text;
}

std::string range(std::int64_t least, std::int64_t greatest) {
  return fmt::format("from {} to {}", least, greatest);
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}: this is not TOML: {}", file, error.source().begin.line,
                                 error.description()));
  }
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw InputError(path + ": cannot be read");
  return text.str();
}

std::string TomlReader::full(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void TomlReader::fail(const toml::source_region& where, const std::string& sentence) const {
  throw InputError(
      fmt::format("{}:{}: {}", file_, where.begin.line ? where.begin.line : line_, sentence));
}

void TomlReader::refuse(std::string_view key, const std::string& must) const {
  const toml::node* node = table_->get(key);
  if (!node) {
    fail(table_->source(), fmt::format("'{}' is missing; it must be {}", full(key), must));
  }
  fail(node->source(), fmt::format("'{}' must be {}, not {}", full(key), must, shown(*node)));
}

void TomlReader::refuse_table(const std::string& sentence) const {
  fail(table_->source(), path_.empty() ? sentence : fmt::format("'{}': {}", path_, sentence));
}

const toml::node* TomlReader::find(std::string_view key) {
  asked_.emplace(key);
  return table_->get(key);
}

std::int64_t TomlReader::checked(const toml::node& node, std::string_view key, std::int64_t least,
                                 std::int64_t greatest, const char* what) const {
  const toml::value<std::int64_t>* value = node.as_integer();
  if (!value || value->get() < least || value->get() > greatest)
    refuse(key, fmt::format("{} {}", what, range(least, greatest)));
  return value->get();
}

std::int64_t TomlReader::integer(std::string_view key, std::int64_t least, std::int64_t greatest) {
  const toml::node* node = find(key);
  if (!node) refuse(key, "a whole number " + range(least, greatest));
  return checked(*node, key, least, greatest, "a whole number");
}

std::int64_t TomlReader::integer_or(std::string_view key, std::int64_t standard, std::int64_t least,
                                    std::int64_t greatest) {
  const toml::node* node = find(key);
  return node ? checked(*node, key, least, greatest, "a whole number") : standard;
}

std::string TomlReader::text(std::string_view key) {
  const toml::node* node = find(key);
  if (!node || !node->is_string()) refuse(key, "a text in quotes");
  return node->as_string()->get();
}

std::string TomlReader::text_or(std::string_view key, std::string standard) {
  return find(key) ? text(key) : std::move(standard);
}

bool TomlReader::flag_or(std::string_view key, bool standard) {
  const toml::node* node = find(key);
  if (!node) return standard;
  if (!node->is_boolean()) refuse(key, "true or false");
  return node->as_boolean()->get();
}

int TomlReader::choice(std::string_view key, const std::vector<std::string_view>& allowed,
                       int standard) {
  const toml::node* node = find(key);
  if (!node && standard >= 0) return standard;
  if (node && node->is_string()) {
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      if (node->as_string()->get() == allowed[i]) return static_cast<int>(i);
    }
  }
  refuse(key, fmt::format("one of \"{}\"", fmt::join(allowed, "\", \"")));
}

std::vector<std::int64_t> TomlReader::integers(std::string_view key, std::int64_t least,
                                               std::int64_t greatest) {
  const toml::node* node = find(key);
  if (!node || !node->is_array())
    refuse(key, "an array of whole numbers " + range(least, greatest));
  std::vector<std::int64_t> values;
  for (const toml::node& element : *node->as_array())
    values.push_back(checked(element, key, least, greatest, "an array of whole numbers"));
  return values;
}

std::vector<std::vector<std::int64_t>> TomlReader::rows(std::string_view key, std::size_t width,
                                                        std::int64_t least, std::int64_t greatest) {
  const toml::node* node = find(key);
  std::string must =
      fmt::format("an array of arrays of {} whole numbers {}", width, range(least, greatest));
  if (!node || !node->is_array()) refuse(key, must);
  std::vector<std::vector<std::int64_t>> rows;
  for (const toml::node& row : *node->as_array()) {
    if (!row.is_array() || row.as_array()->size() != width) refuse(key, must);
    rows.emplace_back();
    for (const toml::node& element : *row.as_array())
      rows.back().push_back(checked(element, key, least, greatest, "arrays of whole numbers"));
  }
  return rows;
}

std::vector<std::string> TomlReader::texts(std::string_view key) {
  const toml::node* node = find(key);
  if (!node || !node->is_array()) refuse(key, "an array of texts");
  std::vector<std::string> values;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_string()) refuse(key, "an array of texts");
    values.push_back(element.as_string()->get());
  }
  return values;
}

TomlReader TomlReader::table(std::string_view key) {
  static const toml::table kEmpty;
  const toml::node* node = find(key);
  if (!node) return {kEmpty, file_, full(key), table_->source().begin.line};
  if (!node->is_table()) refuse(key, "a table");
  return {*node->as_table(), file_, full(key)};
}

std::vector<TomlReader> TomlReader::tables(std::string_view key) {
  const toml::node* node = find(key);
  std::vector<TomlReader> readers;
  if (!node) return readers;
  if (!node->is_array()) refuse(key, fmt::format("tables, each begun with [[{}]]", full(key)));
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) refuse(key, fmt::format("tables, each begun with [[{}]]", full(key)));
    readers.emplace_back(*element.as_table(), file_, full(key));
  }
  return readers;
}

std::vector<std::string> TomlReader::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, node] : *table_) keys.emplace_back(key.str());
  return keys;
}

void TomlReader::finish() const {
  for (const auto& [key, node] : *table_) {
    if (asked_.contains(key.str())) continue;
    fail(key.source(),
         fmt::format("there is no key '{}'; allowed {}: {}", full(key.str()),
                     path_.empty() ? "here" : "in '" + path_ + "'", fmt::join(asked_, ", ")));
  }
}

}  // namespace roost::sim

// Looks for plug-ins where libroost.so does, and loads them as it does.
#include "cli/policy_choice.h"

#include <algorithm>
#include <filesystem>

#include "cli/error.h"
#include "cli/library.h"
#include "cli/split.h"
#include "sched/policy_file.h"

namespace roost::cli {
namespace {

namespace fs = std::filesystem;

// Beside the library, or empty if that is missing.
std::string installed_folder(const Lookup& lookup) {
  try {
    return (fs::path(find_library(lookup)).parent_path() / "roost" / "policies").string();
  } catch (const Failure&) {
    return "";
  }
}

struct Folders {
  explicit Folders(const Lookup& lookup) : installed(installed_folder(lookup)) {
    if (const char* path = lookup("ROOST_POLICY_PATH")) listed = path;
  }
  PolicyFolders view() const { return {listed.c_str(), installed.c_str()}; }
  std::vector<std::string> all() const {
    std::vector<std::string> folders = split(listed, ':');
    std::erase(folders, "");
    folders.push_back(installed);
    return folders;
  }
  std::string listed, installed;
};

FoundPlugIn load(const fs::path& path, const PolicyFolders& folders) {
  PolicyFileError error;
  const PolicyFile* file = load_policy_file(path.c_str(), folders, error);
  return {path.string(), file ? &file->plug_in.policy() : nullptr, error.c_str()};
}

}  // namespace

const Policy& choose_policy(const std::string& given, const Lookup& lookup) {
  if (const Policy* built_in = find_policy(given.c_str())) return *built_in;
  Folders folders(lookup);
  FoundPlugIn found = load(given, folders.view());
  if (!found.policy) die(kWrongUsage, "{}", found.refusal);
  return *found.policy;
}

std::string path_of(const Policy& policy) {
  const PolicyFile* file = file_of(policy);
  return file ? file->path : "";
}

std::string name_for_others(const Policy& policy) {
  std::string path = path_of(policy);
  return path.empty() ? policy.name : path;
}

std::vector<FoundPlugIn> find_plug_ins(const Lookup& lookup) {
  std::vector<FoundPlugIn> found;
  for (const std::string& folder : Folders(lookup).all()) {
    std::error_code error;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".so") files.push_back(fs::absolute(entry.path(), error));
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) found.push_back(load(file, {}));
  }
  return found;
}

}  // namespace roost::cli

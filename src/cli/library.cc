// Finds libroost.so relative to the command.
#include "cli/library.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/error.h"

namespace roost::cli {

std::string find_library(const Lookup& lookup) {
  std::string library;
  if (const char* named = lookup("ROOST_LIBRARY"); named && *named) {
    std::error_code error;
    library = std::filesystem::absolute(named, error).string();
    if (access(library.c_str(), R_OK) != 0) {
      die(kCannotRun, "ROOST_LIBRARY names '{}', which cannot be read", library);
    }
  } else {
    std::error_code error;
    std::filesystem::path own =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    if (error) die(kCannotRun, "/proc is not mounted, and Roost cannot do without it");
    std::string tried;
    // ROOST_LIB_FROM_BIN is the way in an installation; "../lib" in a build tree.
    for (const char* folder : {ROOST_LIB_FROM_BIN, "../lib"}) {
      std::string candidate = (own / folder / "libroost.so").lexically_normal().string();
      if (access(candidate.c_str(), R_OK) == 0) {
        library = candidate;
        break;
      }
      if (candidate != tried) tried += (tried.empty() ? "" : " or ") + candidate;
    }
    if (library.empty()) {
      die(kCannotRun,
          "there is no {}; install Roost completely, or name the library in ROOST_LIBRARY", tried);
    }
  }
  if (library.find_first_of(" :") != std::string::npos) {
    die(kCannotRun,
        "LD_PRELOAD cannot name '{}', because its path holds a blank or a colon; move Roost",
        library);
  }
  return library;
}

std::string openmp_library(const std::string& library) {
  std::string path = (std::filesystem::path(library).parent_path() / "libgomp_roost.so")
                         .lexically_normal()
                         .string();
  if (access(path.c_str(), R_OK) != 0) {
    die(kCannotRun, "there is no {}; install Roost completely, or run with --omp host", path);
  }
  return path;
}

std::string preload_list_without(const std::vector<std::string>& own, const char* users) {
  std::string list;
  std::string rest = users ? users : "";
  for (std::size_t start = 0; start < rest.size();) {
    std::size_t end = std::min(rest.find_first_of(" :", start), rest.size());
    std::string entry = rest.substr(start, end - start);
    if (!entry.empty() && std::find(own.begin(), own.end(), entry) == own.end())
      list += (list.empty() ? "" : ":") + entry;
    start = end + 1;
  }
  return list;
}

std::string preload_list(const std::vector<std::string>& own, const char* users) {
  std::string list = preload_list_without(own, users);
  for (auto library = own.rbegin(); library != own.rend(); ++library)
    list = list.empty() ? *library : *library + ":" + list;
  return list;
}

}  // namespace roost::cli

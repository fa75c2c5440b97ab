// Finds programs along PATH and reads the headers that say how they are loaded.
#include "cli/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "cli/error.h"
#include "cli/split.h"
#include "os/elf.h"

namespace roost::cli {
namespace {

// 0 if `path` can be executed, else why not, as execve would say.
int executable_error(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

[[noreturn]] void die_of(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      die(kNotFound, "there is no file '{}'", path);
    case EISDIR:
      die(kNotExecutable, "'{}' is a directory, not a program", path);
    case EACCES:
      die(kNotExecutable, "'{}' is not executable: it, or a folder on the way, does not permit it",
          path);
    case ENOTDIR:
      die(kNotFound, "there is no file '{}': a part of its path is no directory", path);
    default:
      die(kNotExecutable, "'{}' cannot be executed: {}", path, std::strerror(error));
  }
}

std::vector<std::string> search_path(const Lookup& lookup) {
  const char* value = lookup("PATH");
  std::vector<std::string> folders = split(value ? value : "/bin:/usr/bin", ':');  // as execvp
  std::replace(folders.begin(), folders.end(), std::string(), std::string("."));
  return folders;
}

std::string read_start(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(4096, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return start;
}

// The interpreter of a "#!" line; empty if there is none.
std::string script_interpreter(const std::string& start) {
  if (start.compare(0, 2, "#!") != 0) return {};
  std::string line = start.substr(2, std::min(start.find('\n'), start.size()) - 2);
  std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

// What an ELF file has in its first segment of that type, empty if it has none, and no more than
// the beginning of a large one; nothing if the headers are no good.
std::optional<std::string> segment_of(const std::string& path, const Elf64_Ehdr& header,
                                      Elf64_Word type) {
  std::ifstream file(path, std::ios::binary);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    if (segment.p_type != type) continue;
    std::string content(std::min<std::size_t>(segment.p_filesz, 4096), '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(content.data(), static_cast<std::streamsize>(content.size()))) return {};
    return content;
  }
  return std::string();
}

// Whether the entries of a dynamic section name a library.
bool names_library(const std::string& dynamic) {
  for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, dynamic.data() + at, sizeof entry);
    if (entry.d_tag == DT_NEEDED) return true;
  }
  return false;
}

// Whether the kernel would start it with other rights than ours, and the loader would then ignore
// LD_PRELOAD. Empty if not.
std::string raised_rights(const std::string& path) {
  struct stat status;
  struct statvfs mount;
  if (stat(path.c_str(), &status) != 0 || statvfs(path.c_str(), &mount) != 0) return {};
  bool ignored = (mount.f_flag & ST_NOSUID) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  if (ignored) return {};
  if ((status.st_mode & S_ISUID) && status.st_uid != getuid()) return "a set-user-ID program";
  bool set_group = (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
  if (set_group && status.st_gid != getgid()) return "a set-group-ID program";
  bool capable = getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return capable ? "a program with file capabilities" : "";
}

ProgramCheck check_elf(const std::string& path, const std::string& start) {
  if (start.size() < sizeof(Elf64_Ehdr)) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, start.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != os::kElfMachine) {
    // The loader of such a program complains of the library and goes on; spare it the line.
    return {fmt::format("'{}' is built for another kind of processor than Roost", path), false};
  }
  std::optional<std::string> loader = segment_of(path, header, PT_INTERP);
  std::optional<std::string> dynamic = segment_of(path, header, PT_DYNAMIC);
  if (!loader || !dynamic) return {};
  loader = loader->c_str();  // to its terminator
  if (loader->empty()) return {fmt::format("'{}' is statically linked", path)};
  std::string rights = raised_rights(path);
  if (!rights.empty()) return {fmt::format("'{}' is {}", path, rights)};
  bool glibc = loader->find("ld-linux") != std::string::npos;
  if (!glibc) return {fmt::format("'{}' is linked with another C library than glibc", path), false};
  if (!dynamic->empty() && !names_library(*dynamic))
    return {fmt::format("'{}' does without libc", path)};  // what it starts may be managed
  return {};
}

}  // namespace

std::string find_program(const std::string& name, const Lookup& lookup) {
  if (name.empty()) die(kNotFound, "the command's name is empty");
  if (name.find('/') != std::string::npos) {
    if (int error = executable_error(name)) die_of(name, error);
    return name;
  }
  std::string refused;
  for (const std::string& folder : search_path(lookup)) {
    std::string path = folder + "/" + name;
    int error = executable_error(path);
    if (error == 0) return path;
    // A folder that may not be searched tells nothing, and a folder of that name is no program.
    bool there = error == EACCES && access(path.c_str(), F_OK) == 0;
    if (there && refused.empty()) refused = path;
  }
  if (!refused.empty()) die_of(refused, EACCES);
  die(kNotFound, "there is no command '{}' in the folders of PATH", name);
}

ProgramCheck check_program(const std::string& path) {
  std::string file = path;
  for (int depth = 0; depth < 5; ++depth) {  // as many as the kernel follows
    std::string start = read_start(file);
    if (start.compare(0, SELFMAG, ELFMAG, SELFMAG) == 0) return check_elf(file, start);
    std::string interpreter = script_interpreter(start);
    if (interpreter.empty()) return {};
    if (int error = executable_error(interpreter)) {
      bool missing = error == ENOENT || error == ENOTDIR;
      die(missing ? kNotFound : kNotExecutable,
          "the script '{}' names the interpreter '{}', which {}", file, interpreter,
          missing ? "does not exist" : "is not executable");
    }
    file = interpreter;
  }
  return {};
}

}  // namespace roost::cli

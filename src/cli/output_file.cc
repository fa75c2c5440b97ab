// Looks at what is in the way of a file that the command is to write.
#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/error.h"

namespace roost::cli {
namespace {

bool begins_with(int fd, const char* beginning) {
  std::string found(std::strlen(beginning), '\0');
  return pread(fd, found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) &&
         found == beginning;
}

}  // namespace

bool claim_output(const std::string& path, const char* beginning, const char* what,
                  const char* option, int status) {
  if (path == "-")
    die(kWrongUsage, "{} takes the name of a file; for one named -, write ./-", option);
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool made = fd >= 0;
  if (!made && errno == EEXIST) fd = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) die(status, "the {} '{}' cannot be written: {}", what, path, std::strerror(errno));
  struct stat found {};
  fstat(fd, &found);
  bool regular = S_ISREG(found.st_mode);
  bool may_replace = regular && (found.st_size == 0 || begins_with(fd, beginning));
  close(fd);
  if (!regular) die(status, "the {} '{}' cannot be written: it is no regular file", what, path);
  if (!may_replace) {
    die(status, "'{}' exists and is no {} of Roost's; remove it or name another for {}", path, what,
        option);
  }
  return made;
}

void check_output(const std::string& path, const char* beginning, const char* what,
                  const char* option, int status) {
  if (claim_output(path, beginning, what, option, status)) unlink(path.c_str());
}

}  // namespace roost::cli

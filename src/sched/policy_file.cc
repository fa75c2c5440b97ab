// Opens, checks and loads the shared object of a policy.
#include "sched/policy_file.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/sys.h"
#include "sched/policy_object.h"

namespace roost {
namespace {

constexpr unsigned kMaxLoaded = 64;
constexpr std::size_t kLargestFile = 64u << 20;  // a mistake: policies have some 20 KB

// Without a constructor: it is used before those of this object run.
constinit PolicyFile loaded[kMaxLoaded] = {};
constinit unsigned n_loaded = 0;

using Path = Text<kPolicyPathBytes>;

// A file as it was opened. Its contents stay readable until the end of the object, though somebody
// may replace what the path names.
class OpenFile {
 public:
  ~OpenFile() {
    if (bytes_) munmap(const_cast<unsigned char*>(contents_), bytes_);
    if (fd_ >= 0) os::close(fd_);
  }
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // 0 or -errno.
  int open(const char* path) {
    fd_ = os::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd_ < 0 ? fd_ : fstat(fd_, &status_) == 0 ? 0 : -EIO;
  }
  bool regular() const { return S_ISREG(status_.st_mode); }
  std::size_t bytes() const { return static_cast<std::size_t>(status_.st_size); }
  bool map() {
    void* at = mmap(nullptr, bytes(), PROT_READ, MAP_PRIVATE, fd_, 0);
    if (at == MAP_FAILED) return false;
    contents_ = static_cast<const unsigned char*>(at);
    bytes_ = bytes();
    return true;
  }
  const unsigned char* contents() const { return contents_; }
  // Where it really lies: absolute, links followed. False if that is too long or cannot be told.
  bool write_path(char (&path)[kPolicyPathBytes]) const {
    Text<64> link("/proc/self/fd/");
    link << static_cast<unsigned>(fd_);
    long length = os::raw_syscall(SYS_readlinkat, AT_FDCWD, os::arg(link.c_str()), os::arg(path),
                                  sizeof path);
    if (length <= 0 || length >= static_cast<long>(sizeof path)) return false;
    path[length] = 0;
    return true;
  }
  // Whether `path` still names it, unchanged.
  bool is_still(const char* path) const {
    struct stat now;
    return stat(path, &now) == 0 && now.st_dev == status_.st_dev && now.st_ino == status_.st_ino &&
           now.st_mtim.tv_sec == status_.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec && now.st_size == status_.st_size;
  }

 private:
  int fd_ = -1;
  struct stat status_ = {};
  const unsigned char* contents_ = nullptr;
  std::size_t bytes_ = 0;
};

bool exists(const char* path) {
  struct stat status;
  return stat(path, &status) == 0;
}

// The file of a plug-in named without a path.
bool find(const char* name, const PolicyFolders& folders, Path& path, PolicyFileError& error) {
  auto try_folder = [&](const char* folder, std::size_t length) {
    path.clear();
    path.append(folder, length);
    path << '/' << name << ".so";
    return length != 0 && !path.cut() && exists(path.c_str());
  };
  for (const char* at = folders.listed; at && *at;) {
    const char* end = strchr(at, ':');
    std::size_t length = end ? static_cast<std::size_t>(end - at) : strlen(at);
    if (try_folder(at, length)) return true;
    at += length + (end ? 1 : 0);
  }
  if (folders.installed && try_folder(folders.installed, strlen(folders.installed))) return true;
  error << "there is no policy '" << name << "'; known: ";
  for (const Policy* const* policy = kPolicies; *policy; ++policy)
    error << (policy == kPolicies ? "" : policy[1] ? ", " : " and ") << (*policy)->name;
  error << ", and what lies as NAME.so in ";
  if (folders.listed && *folders.listed) error << folders.listed << " or ";
  error << (folders.installed && *folders.installed ? folders.installed : "ROOST_POLICY_PATH");
  if (exists(name)) error << "; for the file that lies here, write ./" << name;
  return false;
}

const PolicyFile* fail(PolicyFileError& error, const char* path, const char* what) {
  error << "the policy " << path << ' ' << what;
  return nullptr;
}

// `file` is checked, and all but what the dynamic linker finds is filled in.
bool link(PolicyFile& file, std::size_t table_bytes, ErrorText& error) {
  void* handle = dlopen(file.path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    error << "cannot be loaded: " << (why ? why : "the dynamic linker refuses it");
    return false;
  }
  const void* table = dlsym(handle, "roost_policy");
  error << "is refused: ";
  if (!table) {
    error << "it exports no roost_policy";
  } else if (file.plug_in.adopt(*static_cast<const PolicyTable*>(table), table_bytes, error)) {
    error.clear();
    return true;
  }
  // No callback has run, and none of its code is in use.
  dlclose(handle);
  return false;
}

}  // namespace

const PolicyFile* load_policy_file(const char* given, const PolicyFolders& folders,
                                   PolicyFileError& error) {
  Path found;
  bool by_path = is_policy_path(given);
  if (!by_path) {
    if (!find(given, folders, found, error)) return nullptr;
    given = found.c_str();
  }
  OpenFile open;
  if (int code = open.open(given)) {
    error << "the policy " << given << " cannot be opened: " << strerror(-code);
    return nullptr;
  }
  if (!open.regular()) return fail(error, given, "is no file");
  if (open.bytes() == 0) return fail(error, given, "is empty");
  if (open.bytes() > kLargestFile) return fail(error, given, "is far too large for a policy");
  if (n_loaded == kMaxLoaded) return fail(error, given, "is one too many for this process");
  if (!open.map()) return fail(error, given, "cannot be read");
  std::uint64_t hash = hash_of_file(open.contents(), open.bytes());
  const PolicyFile* known = loaded_policy_file(hash);
  PolicyFile& file = loaded[n_loaded];
  if (!known) {
    ErrorText why;
    std::size_t table_bytes = check_policy_object(open.contents(), open.bytes(), why);
    if (!table_bytes) return fail(error, given, why.c_str());
    if (!open.write_path(file.path)) return fail(error, given, "has too long a path");
    if (!link(file, table_bytes, why)) return fail(error, given, why.c_str());
    if (!open.is_still(file.path)) return fail(error, given, "has changed while it was loaded");
    file.hash = hash;
    ++n_loaded;
    known = &file;
  }
  const char* name = known->plug_in.policy().name;
  std::size_t length = strlen(name);
  const char* file_name = strrchr(given, '/') + 1;
  if (!by_path &&
      (strncmp(file_name, name, length) != 0 || strcmp(file_name + length, ".so") != 0)) {
    error << "the policy " << given << " calls itself " << name << "; call the file " << name
          << ".so, or name it by its path";
    return nullptr;
  }
  return known;
}

const PolicyFile* loaded_policy_file(std::uint64_t hash) {
  for (unsigned i = 0; i < n_loaded; ++i) {
    if (loaded[i].hash == hash) return &loaded[i];
  }
  return nullptr;
}

const Policy* policy_of_instance(const SegmentHeader& header, bool may_load,
                                 PolicyFileError& error) {
  if (header.policy_hash == 0) {
    const Policy* policy = find_policy(header.policy);
    if (policy && policy->layout == header.policy_layout) return policy;
    error << "the instance runs the policy " << header.policy
          << ", which this version of Roost does not have";
    return nullptr;
  }
  const PolicyFile* file = loaded_policy_file(header.policy_hash);
  if (!file && !may_load) {
    error << "the instance runs the policy " << header.policy_path
          << ", which was not loaded before the fork";
    return nullptr;
  }
  // The path is a peer's word: only a file that is named by its contents, too, is taken.
  if (!file) {
    file = is_policy_path(header.policy_path) ? load_policy_file(header.policy_path, {}, error)
                                              : nullptr;
    if (!file) return nullptr;
  }
  const Policy& policy = file->plug_in.policy();
  if (file->hash != header.policy_hash || strcmp(policy.name, header.policy) != 0 ||
      policy.layout != header.policy_layout) {
    error << "the policy " << header.policy_path
          << " has changed since the instance began; end its programs or use another --instance";
    return nullptr;
  }
  for (unsigned i = 0; i < policy.n_parameters; ++i) {
    const PolicyParameter& parameter = policy.parameters[i];
    if (header.parameters[i] >= parameter.minimum && header.parameters[i] <= parameter.maximum)
      continue;
    error << "the instance's value of the parameter " << parameter.name << ", "
          << header.parameters[i] << ", is out of range";
    return nullptr;
  }
  return &policy;
}

const PolicyFile* file_of(const Policy& policy) {
  for (unsigned i = 0; i < n_loaded; ++i) {
    if (&loaded[i].plug_in.policy() == &policy) return &loaded[i];
  }
  return nullptr;
}

}  // namespace roost

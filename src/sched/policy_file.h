// Plug-in policies: found by name or path, checked, loaded, and known again in other processes.
//
// A process loads what it needs as it starts, before it schedules anything: from the constructor of
// libroost.so, in roost_start(), or in a tool. Not after a fork, where the dynamic linker's lock
// may be held for ever, and never by two threads at once. What is loaded stays.
#pragma once

#include <cstdint>

#include "base/text.h"
#include "policy/plug_in.h"

namespace roost {

struct PolicyFile {
  PlugIn plug_in;
  char path[kPolicyPathBytes];  // absolute
  std::uint64_t hash;           // of the file
};

// One sentence, with paths in it.
using PolicyFileError = Text<1024>;

// Where plug-ins lie that are named without a path, as NAME.so. Both may be null.
struct PolicyFolders {
  const char* listed;     // separated by colons, as ROOST_POLICY_PATH
  const char* installed;  // comes last
};

// A '/' makes it a path.
inline bool is_policy_path(const char* given) {
  while (*given && *given != '/') ++given;
  return *given;
}

// Loads what `given` means, unless it is loaded already; null, with why not, if it is no plug-in.
const PolicyFile* load_policy_file(const char* given, const PolicyFolders&, PolicyFileError& error);

// The plug-in whose file has these contents, if this process has loaded it. Async-signal-safe.
const PolicyFile* loaded_policy_file(std::uint64_t hash);

// What was loaded for a policy; null if it is built in.
const PolicyFile* file_of(const Policy&);

// The policy that an instance runs, by this process's own table. Loads it if it is a plug-in, with
// `may_load`. Null, with why not in a sentence, if this process cannot have the very same.
const Policy* policy_of_instance(const SegmentHeader&, bool may_load, PolicyFileError& error);

}  // namespace roost

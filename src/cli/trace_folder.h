// Folders of rings, one for each recording that runs: /dev/shm/roost.trace-UID-XXXXXX.
#pragma once

#include <string>
#include <vector>

namespace roost::cli {

// A new one, which goes with the object. Whoever made it holds a lock on it for as long as it
// lives.
class RingFolder {
 public:
  RingFolder();  // ends the command if there cannot be one
  ~RingFolder();
  RingFolder(const RingFolder&) = delete;
  RingFolder& operator=(const RingFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

// Those of this user.
std::vector<std::string> own_ring_folders();
// 1: removed; 0: its recording runs; else -errno.
int clean_ring_folder(const std::string& path);

}  // namespace roost::cli

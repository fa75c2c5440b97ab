// An instance with a name of its own for tests; whatever is left of it goes away with the object.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "os/sys.h"
#include "segment/segment.h"

namespace roost {

class TestInstance {
 public:
  explicit TestInstance(CoreIndex n_cores = 2) : config_(std::make_unique<SegmentConfig>()) {
    static std::atomic<int> count{0};
    name_ = "unit-" + std::to_string(getpid()) + "-" + std::to_string(++count);
    char path[kSegmentPathBytes];
    segment_path(path, geteuid(), name_.c_str(), os::pid_namespace());
    path_ = path;
    std::memset(static_cast<void*>(config_.get()), 0, sizeof *config_);
    config_->instance = name_.c_str();
    config_->policy = "coop";
    config_->parameters[0] = 20'000'000;  // its quantum; the layout is set by who needs it
    config_->n_cores = n_cores;
    config_->n_threads = 130;  // not a multiple of a word of the bitmap
    for (CoreIndex core = 0; core < n_cores; ++core) {
      config_->cores[core] = {core, 0, 0, 0, 0, n_cores};
    }
  }
  ~TestInstance() { unlink(path_.c_str()); }
  TestInstance(const TestInstance&) = delete;
  TestInstance& operator=(const TestInstance&) = delete;

  SegmentConfig& config() { return *config_; }
  const char* path() const { return path_.c_str(); }
  bool exists() const { return access(path(), F_OK) == 0; }

 private:
  std::string name_, path_;
  std::unique_ptr<SegmentConfig> config_;
};

// A membership of the test's own process, given up with the object unless that was done before.
class Member {
 public:
  explicit Member(TestInstance& instance)
      : error(segment_attach(segment, instance.config(), index)) {}
  ~Member() { leave(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void leave(ProcessState state = ProcessState::free) {
    if (!segment.header) return;
    segment_detach(segment, index, state);
    segment_unmap(segment);
  }

  Segment segment;
  ProcessIndex index = kNoProcess;
  int error;
};

}  // namespace roost

// The segments of this user's instances, as the tools see them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "segment/segment.h"
#include "topo/cpu_set.h"
#include "topo/machine.h"

namespace roost::cli {

// A segment that is mapped as long as the object lives.
class MappedSegment {
 public:
  explicit MappedSegment(const Segment& segment) : segment_(segment) {}
  ~MappedSegment() { segment_unmap(segment_); }
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;

  const Segment& operator*() const { return segment_; }
  const Segment* operator->() const { return &segment_; }

 private:
  Segment segment_;
};

struct OpenedInstance {
  // Null on an error, and if nobody finished the file or it is a dead container's.
  std::unique_ptr<MappedSegment> segment;
  int error = 0;  // -errno or a SegmentError
};

// Opens a segment once its creator, if it is just being made, has finished.
OpenedInstance open_instance(const std::string& path, bool writable);

// What an `error` of OpenedInstance means, in a sentence.
std::string instance_error(int error);

std::string instance_path(const std::string& name);

// The name of the instance that a file of /dev/shm belongs to; with the PID namespace's, if that is
// not the caller's ("default@4026532201").
std::string instance_name(const std::string& path);

// The paths of all segments of this user, sorted.
std::vector<std::string> own_segments();

// The kernel's CPUs of an instance.
CpuSet cpus_of(const Segment&);
CpuSet cpus_of(const Machine&);

}  // namespace roost::cli

// Where the tables of a segment lie, computed once by the creator and checked by every attacher.
#pragma once

#include <initializer_list>

#include "segment/header.h"

namespace roost {

struct SegmentLayout {
  std::uint64_t cores, core_info, threads, processes, fifos, thread_bits, total;
};

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

constexpr SegmentLayout segment_layout(std::uint64_t n_cores, std::uint64_t n_threads) {
  SegmentLayout layout{};
  std::uint64_t end = sizeof(SegmentHeader);
  auto place = [&end](std::uint64_t bytes) {
    std::uint64_t offset = align_up(end, kCoreStride);
    end = offset + bytes;
    return offset;
  };
  layout.cores = place(n_cores * sizeof(CoreSlot<RealWorld>));
  layout.core_info = place(n_cores * sizeof(CoreInfo));
  layout.processes = place(kMaxProcesses * sizeof(ProcessSlot<RealWorld>));
  layout.fifos = place(n_cores * kMaxProcesses * sizeof(Fifo));
  layout.thread_bits = place((n_threads + 63) / 64 * sizeof(std::uint64_t));
  layout.threads = place(n_threads * sizeof(ThreadRecord<RealWorld>));
  layout.total = align_up(end, 4096);
  return layout;
}

// Changes whenever a structure of the segment changes size; the ABI version covers the rest.
constexpr std::uint64_t layout_hash() {
  std::uint64_t hash = 1469598103934665603ull;
  for (std::uint64_t size : {sizeof(SegmentHeader), sizeof(CoreSlot<RealWorld>), sizeof(CoreInfo),
                             sizeof(ThreadRecord<RealWorld>), sizeof(ProcessSlot<RealWorld>),
                             sizeof(Fifo), sizeof(pthread_mutex_t), std::size_t{kMaxProcesses}}) {
    hash = (hash ^ size) * 1099511628211ull;
  }
  return hash;
}

}  // namespace roost

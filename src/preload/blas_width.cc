// Counts the calls under way, and looks at whose the cores are.
#include "preload/blas_width.h"

#include <algorithm>
#include <atomic>

#include "sched/runtime.h"

namespace roost {
namespace {

constinit BlasMode mode = BlasMode::keep;
constinit bool all_trials = false;
constinit std::atomic<unsigned> under_way{0};
constinit std::atomic<std::uint64_t> calls{0}, in_fewer_pieces{0};

// A core that is left to other programs is none: a piece there would come late. What others write
// meanwhile may be half new: the number is a hint.
unsigned cores_of_process() {
  const Segment& s = runtime_segment();
  ProcessIndex own = runtime_process();
  unsigned cores = 0;
  for (CoreIndex c = 0; c < s.header->n_cores; ++c) {
    if (has_bit(s.header->contended, c)) continue;
    std::uint32_t owner = s.cores[c].owner.load(std::memory_order_relaxed);
    ThreadIndex thread = thread_of_owner(owner);
    cores += owner == 0 || (thread < s.header->n_threads && s.threads[thread].process == own);
  }
  return cores;
}

}  // namespace

void blas_width_configure(BlasMode wanted, bool all) {
  mode = wanted;
  all_trials = all;
}
bool blas_makes_all_trials() { return all_trials; }

bool blas_has_fewer_pieces() { return mode != BlasMode::keep; }
bool blas_bits_may_differ() { return mode == BlasMode::adapt; }

void blas_width_after_fork() {
  under_way.store(0, std::memory_order_relaxed);
  calls.store(0, std::memory_order_relaxed);
  in_fewer_pieces.store(0, std::memory_order_relaxed);
}

BlasCounts blas_counts() {
  return {calls.load(std::memory_order_relaxed), in_fewer_pieces.load(std::memory_order_relaxed)};
}

void count_blas_call(bool fewer) {
  calls.fetch_add(1, std::memory_order_relaxed);
  in_fewer_pieces.fetch_add(fewer, std::memory_order_relaxed);
}

BlasCall::BlasCall() {
  under_way.fetch_add(1, std::memory_order_relaxed);
  calls.fetch_add(1, std::memory_order_relaxed);
}
BlasCall::~BlasCall() { under_way.fetch_sub(1, std::memory_order_relaxed); }

void BlasCall::count_fewer() { in_fewer_pieces.fetch_add(1, std::memory_order_relaxed); }

unsigned BlasCall::cores(unsigned asked) const {
  if (!blas_has_fewer_pieces()) return asked;
  unsigned share = cores_of_process() / std::max(under_way.load(std::memory_order_relaxed), 1u);
  return std::clamp(share, 1u, asked);
}

}  // namespace roost

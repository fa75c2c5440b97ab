// Doacross loops whose outermost dimension alone is divided (GCC's ABI): iterations wait for named
// earlier ones.
//
// A chunk's iterations are executed in order by one member, so one number a chunk says how far it
// is: iterations of the chunk up to the last one posted. Where chunks are irregular (guided) each
// iteration of the outermost dimension has a number, where a member has one block, each member.
// LLVM's ABI may divide collapsed dimensions anyhow: omp/kmpc_doacross.cc has a bit an iteration.
#pragma once

#include "omp/loop.h"
#include "omp/ompt_callbacks.h"

namespace roost::omp {

// After begin_loop() over the outermost dimension: lets the team see the loop's progress. Also
// prepares what begin_shared() (omp/gomp_loop.h) does. `iterations`: of each dimension.
template <class T>
void begin_doacross(Member& member, unsigned n_dimensions, const T* iterations,
                    std::uintptr_t* reductions, void** memory);

// `index(d)`: the iteration's number in dimension d, from 0.
// It is done, as far as others wait for it.
template <class Index>
void post(Member& member, Index&& index);
// Waits until it is.
template <class Index>
void wait_for(Member& member, Index&& index);

// ---- Inside -------------------------------------------------------------------------------------

// Where a chunk of the outermost dimension keeps its progress, and its first iteration.
struct ProgressEntry {
  std::uint64_t number;
  std::uint64_t low;
};
inline ProgressEntry progress_entry(const LoopState& loop, std::uint64_t outermost) {
  switch (loop.handout) {
    case Handout::cyclic:
    case Handout::dynamic: {
      std::uint64_t number = outermost / loop.chunk;
      return {number, number * loop.chunk};
    }
    case Handout::guided:
      return {outermost, outermost};
    case Handout::block:
    case Handout::over:
      break;
  }
  std::uint64_t share = loop.trip / loop.size;
  std::uint64_t more = loop.trip % loop.size;
  std::uint64_t owner =
      outermost < more * (share + 1) ? outermost / (share + 1) : (outermost - more) / share;
  return {owner, block_of(loop.trip, loop.size, owner).low};
}
inline std::uint64_t progress_entries(const LoopState& loop) {
  switch (loop.handout) {
    case Handout::cyclic:
    case Handout::dynamic:
      return loop.chunks;
    case Handout::guided:
      return loop.trip;
    case Handout::block:
    case Handout::over:
      break;
  }
  return loop.size;
}

// What progress means that iteration is done. Beyond 2^64 iterations of a chunk it would be wrong.
template <class Index>
std::uint64_t progress_at(const DoacrossShape& shape, std::uint64_t low, Index&& index) {
  std::uint64_t flat = index(0) - low;
  for (unsigned d = 1; d < shape.n_dimensions; ++d) flat = flat * shape.dimensions[d] + index(d);
  return flat + 1;
}

template <class T>
void begin_doacross(Member& member, unsigned n_dimensions, const T* iterations,
                    std::uintptr_t* reductions, void** memory) {
  LoopState& loop = member.loop;
  Workshare& workshare = *loop.workshare;
  if (first_to_prepare(member, workshare)) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    // Entries have lines of their own while that is no waste.
    std::uint64_t entries = progress_entries(loop);
    std::uint32_t stride = entries <= 4096 ? kCacheLine / kWord : 1;
    if (entries > ~std::size_t{0} / (2 * kWord)) ult::out_of_memory("a doacross loop");
    auto line = [](std::size_t bytes) {
      return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    };
    std::size_t progress_bytes = line(entries * stride * kWord);
    std::size_t shape_bytes = line(n_dimensions * kWord);
    std::size_t shared_bytes = memory ? reinterpret_cast<std::size_t>(*memory) : 0;
    char* all = shared_memory(workshare, progress_bytes + shape_bytes + shared_bytes);
    DoacrossShape& shape = workshare.doacross;
    shape.progress = reinterpret_cast<std::atomic<std::uint64_t>*>(all);
    shape.stride = stride;
    shape.dimensions = reinterpret_cast<std::uint64_t*>(all + progress_bytes);
    shape.n_dimensions = n_dimensions;
    for (unsigned d = 0; d < n_dimensions; ++d)
      shape.dimensions[d] = static_cast<std::uint64_t>(iterations[d]);
    if (memory) workshare.memory = all + progress_bytes + shape_bytes;
    if (reductions) register_task_reductions(reductions, nullptr);
    workshare.reductions = reductions;
    prepared(workshare);
  } else if (reductions) {
    register_task_reductions(reductions, workshare.reductions);
  }
  if (memory) *memory = workshare.memory;
  // A member alone executes its iterations in order: nothing to wait for.
  loop.doacross = loop.size > 1 ? &workshare : nullptr;
}

template <class Index>
void post(Member& member, Index&& index) {
  LoopState& loop = member.loop;
  if (!loop.doacross) return;
  DoacrossShape& shape = loop.doacross->doacross;
  if (ompt::on())
    ompt::tell_iteration(member, ompt::DependenceKind::source, shape.n_dimensions, index);
  ProgressEntry entry = progress_entry(loop, index(0));
  ult::happens_before(&shape);
  // [post-1] with all that the iteration did; no other member writes this entry.
  shape.progress[entry.number * shape.stride].store(progress_at(shape, entry.low, index),
                                                    std::memory_order_seq_cst);
  loop.doacross->gate(entry.number).wake_all();
}

template <class Index>
void wait_for(Member& member, Index&& index) {
  LoopState& loop = member.loop;
  if (!loop.doacross) return;
  DoacrossShape& shape = loop.doacross->doacross;
  // Iterations that do not exist are not waited for. The compiler leaves most of them out itself.
  for (unsigned d = 0; d < shape.n_dimensions; ++d)
    if (index(d) >= shape.dimensions[d]) return;
  if (ompt::on())
    ompt::tell_iteration(member, ompt::DependenceKind::sink, shape.n_dimensions, index);
  ProgressEntry entry = progress_entry(loop, index(0));
  std::uint64_t wanted = progress_at(shape, entry.low, index);
  std::atomic<std::uint64_t>& progress = shape.progress[entry.number * shape.stride];
  auto done = [&] { return progress.load(std::memory_order_acquire) >= wanted; };  // [post-1]
  auto ready = [&] { return done() || region_cancelled(*member.team); };
  if (!done()) ult::wait_until(loop.doacross->gate(entry.number), {.under = member.team}, ready);
  ult::happens_after(&shape);
}

}  // namespace roost::omp

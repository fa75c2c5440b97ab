// LLVM's entry points: doacross loops. The loop itself is divided by the other entry points, in any
// way the collapsed dimensions allow, so each iteration has a bit that says it is done.
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/ompt_callbacks.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

// A dimension as the compiler states it: `last` is included.
struct Dimension {
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;

  std::uint64_t iterations() const {
    if (step > 0 ? first > last : first < last) return 0;
    return number(last) + 1;
  }
  // Number of the iteration with the value `at`.
  std::uint64_t number(std::int64_t at) const {
    auto up = static_cast<std::uint64_t>(at) - static_cast<std::uint64_t>(first);
    if (step == 1) return up;
    return step > 0 ? up / static_cast<std::uint64_t>(step)
                    : (0 - up) / (0 - static_cast<std::uint64_t>(step));
  }
  bool has(std::int64_t at) const {
    return step > 0 ? at >= first && at <= last : at <= first && at >= last;
  }
};

// The dimensions stand in front of the bits.
const Dimension* dimensions(const DoacrossShape& shape) {
  return reinterpret_cast<const Dimension*>(shape.dimensions);
}

void tell_iteration(const Member& member, ompt::DependenceKind kind, const DoacrossShape& shape,
                    const std::int64_t* at) {
  if (!ompt::on()) return;
  ompt::tell_iteration(member, kind, shape.n_dimensions,
                       [&](unsigned d) { return dimensions(shape)[d].number(at[d]); });
}

constexpr unsigned kBits = 64;

std::uint64_t flat_number(const DoacrossShape& shape, const std::int64_t* at) {
  const Dimension* dimension = dimensions(shape);
  std::uint64_t flat = 0;
  for (unsigned d = 0; d < shape.n_dimensions; ++d)
    flat = flat * dimension[d].iterations() + dimension[d].number(at[d]);
  return flat;
}

}  // namespace

extern "C" {

ROOST_EXPORT void __kmpc_doacross_init(Ident*, std::int32_t, std::int32_t n_dimensions,
                                       const Dimension* given) {
  Member& member = self();
  // A member alone executes all in order: nothing to wait for.
  if (member.team->size == 1) return;
  if (member.loop.workshare) leave_workshare(member);  // it was cancelled
  Workshare* entered = enter_workshare(member);
  if (!entered) return;  // the region is cancelled
  Workshare& workshare = *entered;
  if (first_to_prepare(member, workshare)) {
    auto n = static_cast<unsigned>(n_dimensions);
    std::size_t shape_bytes = n * sizeof(Dimension);
    std::uint64_t iterations = 1;
    for (unsigned d = 0; d < n; ++d)
      if (__builtin_mul_overflow(iterations, given[d].iterations(), &iterations))
        ult::out_of_memory("a doacross loop");
    std::uint64_t words = iterations / kBits + 1;
    char* all = shared_memory(workshare, shape_bytes + words * sizeof(std::uint64_t));
    DoacrossShape& shape = workshare.doacross;
    shape.n_dimensions = n;
    shape.dimensions = reinterpret_cast<std::uint64_t*>(all);
    for (unsigned d = 0; d < n; ++d) reinterpret_cast<Dimension*>(all)[d] = given[d];
    shape.progress = reinterpret_cast<std::atomic<std::uint64_t>*>(all + shape_bytes);
    prepared(workshare);
  }
  member.loop.flags = &workshare;
}

ROOST_EXPORT void __kmpc_doacross_post(Ident*, std::int32_t, const std::int64_t* at) {
  Member& member = self();
  Workshare* workshare = member.loop.flags;
  if (!workshare) return;
  tell_iteration(member, ompt::DependenceKind::source, workshare->doacross, at);
  std::uint64_t flat = flat_number(workshare->doacross, at);
  ult::happens_before(&workshare->doacross);
  // [flag-1] with all that the iteration did.
  workshare->doacross.progress[flat / kBits].fetch_or(std::uint64_t{1} << flat % kBits,
                                                      std::memory_order_seq_cst);
  workshare->gate(flat).wake_all();
}

ROOST_EXPORT void __kmpc_doacross_wait(Ident*, std::int32_t, const std::int64_t* at) {
  Member& member = self();
  Workshare* workshare = member.loop.flags;
  if (!workshare) return;
  const DoacrossShape& shape = workshare->doacross;
  // Iterations that do not exist are not waited for.
  for (unsigned d = 0; d < shape.n_dimensions; ++d)
    if (!dimensions(shape)[d].has(at[d])) return;
  tell_iteration(member, ompt::DependenceKind::sink, shape, at);
  std::uint64_t flat = flat_number(shape, at);
  std::atomic<std::uint64_t>& word = shape.progress[flat / kBits];
  auto done = [&] { return word.load(std::memory_order_acquire) >> flat % kBits & 1; };  // [flag-1]
  auto ready = [&] { return done() || region_cancelled(*member.team); };
  if (!done()) ult::wait_until(workshare->gate(flat), {.under = member.team}, ready);
  ult::happens_after(&shape);
}

ROOST_EXPORT void __kmpc_doacross_fini(Ident*, std::int32_t) {
  Member& member = self();
  Workshare* workshare = member.loop.flags;
  if (!workshare) return;
  member.loop.flags = nullptr;
  // [left-1]
  if (workshare->left.fetch_add(1, std::memory_order_acq_rel) == member.team->size - 1)
    recycle(member, *workshare);
}

}  // extern "C"
}  // namespace roost::omp

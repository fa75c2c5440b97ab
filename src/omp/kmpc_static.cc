// LLVM's entry points: static loops (__kmpc_for_static_init_*), which members divide without shared
// state, and the static divisions among leagues (distribute).
//
// The compiler's loop: init(&lower, &upper, &stride) gives the first chunk, both ends included;
// after each chunk the caller adds the stride to both, and stops when `lower` is beyond the loop's
// end. A member without iterations gets lower > upper.
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/kmpc_schedule.h"
#include "omp/loop.h"

namespace roost::omp {
namespace {

template <class T>
constexpr T kLeast = static_cast<T>(T(-1) < T(0) ? T(1) << (sizeof(T) * 8 - 1) : 0);
template <class T>
constexpr T kMost = static_cast<T>(~kLeast<T>);

// Bounds of the caller's variable, in place. Not to be handed on by value: what was just stored
// word by word would be read in larger parts, which waits for all stores before, of a barrier, say.
template <class T>
struct Bounds {
  using Signed = std::make_signed_t<T>;
  T* lower;
  T* upper;
  Signed* stride;
  std::int32_t*
      last;  // whether the sequentially last iteration is in the caller's part; may be null
  Signed step;

  bool up() const { return step > 0; }
  std::uint64_t step64() const { return static_cast<std::uint64_t>(std::int64_t{step}); }
  std::uint64_t trip() const { return trip_count_to(*lower, *upper, up(), step64()); }

  // Iterations low to high - 1.
  void give(std::uint64_t low, std::uint64_t high) const {
    auto first = static_cast<std::uint64_t>(*lower);
    *lower = static_cast<T>(first + low * step64());
    *upper = static_cast<T>(first + (high - 1) * step64());
  }
  // None, whatever the bounds are, and so that one more stride does not make it some.
  void give_none() const {
    if (up()) {
      *lower = *upper == kMost<T> ? *upper : static_cast<T>(*upper + 1);
      *upper = static_cast<T>(*lower - 1);
    } else {
      *lower = *upper == kLeast<T> ? *upper : static_cast<T>(*upper - 1);
      *upper = static_cast<T>(*lower + 1);
    }
    *stride = 0;
    if (up() ? *lower != kMost<T> : *lower != kLeast<T>) *stride = up() ? 1 : -1;
  }
};

// One block each.
template <class T>
void give_block(const Bounds<T>& bounds, std::uint64_t size, std::uint64_t number,
                std::uint64_t unit) {
  std::uint64_t trip = bounds.trip();
  Block block;
  if (unit > 1) {
    std::uint64_t share = (trip - 1) / size + 1;
    share = (share - 1) / unit * unit + unit;
    std::uint64_t blocks = (trip - 1) / share + 1;
    block = {0, 0};
    if (number < blocks)
      block = {number * share, number + 1 == blocks ? trip : (number + 1) * share};
  } else {
    block = block_of(trip, size, number);
  }
  if (bounds.last) *bounds.last = block.high == trip && block.low < block.high;
  *bounds.stride = static_cast<typename Bounds<T>::Signed>(trip * bounds.step64());
  if (block.low < block.high) {
    bounds.give(block.low, block.high);
  } else {
    bounds.give_none();
  }
}

// Chunks in turn.
template <class T>
void give_chunks(const Bounds<T>& bounds, std::uint64_t size, std::uint64_t number,
                 std::int64_t chunk_said) {
  using Signed = typename Bounds<T>::Signed;
  std::uint64_t trip = bounds.trip();
  std::uint64_t chunk = chunk_said > 0 ? static_cast<std::uint64_t>(chunk_said) : 1;
  std::uint64_t chunks = (trip - 1) / chunk + 1;
  if (bounds.last) *bounds.last = (chunks - 1) % size == number;
  if (number >= chunks) {
    bounds.give_none();
    return;
  }
  std::uint64_t low = number * chunk;
  bounds.give(low, number + 1 == chunks ? trip : low + chunk);
  if (chunks - number > size) {
    *bounds.stride = static_cast<Signed>(chunk * size * bounds.step64());
    return;
  }
  // It has no further chunk: the next one must be seen to lie beyond the end, and the true stride
  // may lead around the range of T.
  std::uint64_t room =
      bounds.up()
          ? static_cast<std::uint64_t>(kMost<T>) - static_cast<std::uint64_t>(*bounds.lower)
          : static_cast<std::uint64_t>(*bounds.lower) - static_cast<std::uint64_t>(kLeast<T>);
  std::uint64_t length = bounds.up() ? bounds.step64() : 0 - bounds.step64();
  std::uint64_t stride;
  if (__builtin_mul_overflow(chunk, size, &stride) ||
      __builtin_mul_overflow(stride, length, &stride) || stride > room) {
    stride = room;
  }
  *bounds.stride = static_cast<Signed>(bounds.up() ? stride : 0 - stride);
}

template <class T>
void give_part(const Bounds<T>& bounds, std::int32_t kind, std::uint64_t size, std::uint64_t number,
               std::int64_t chunk) {
  if (!bounds.trip()) {
    // The bounds say already that there is none.
    if (bounds.last) *bounds.last = 0;
    *bounds.stride = bounds.step;
    return;
  }
  if (kind == kKmpStaticChunked) {
    give_chunks(bounds, size, number, chunk);
  } else if (kind == kKmpStaticBalancedChunked && chunk > 1) {
    give_block(bounds, size, number, static_cast<std::uint64_t>(chunk));
  } else {
    give_block(bounds, size, number, 1);
  }
}

// What the compiler divides by a static loop.
ompt::Work work_of(const Ident* where, std::int32_t kind) {
  constexpr std::int32_t kSections = 0x400, kDistribute = 0x800;
  std::int32_t flags = where ? where->flags : 0;
  if (flags & kSections) return ompt::Work::sections;
  bool distribute = flags & kDistribute || kind == kKmpDistribute || kind == kKmpDistributeChunked;
  return distribute ? ompt::Work::distribute : ompt::Work::loop_static;
}

// Tells a tool which iterations, of all from `first` on, the caller begins with.
template <class T>
void tell_first_chunk(Member& member, const Bounds<T>& bounds, T first) {
  std::uint64_t count = bounds.trip();
  if (!count) return;
  std::uint64_t low = trip_count_to(first, *bounds.lower, bounds.up(), bounds.step64()) - 1;
  ompt::chunk(member, low, low + count);
}

template <class T>
void for_static_init(const Ident* where, std::int32_t schedule, const Bounds<T>& bounds,
                     std::int64_t chunk) {
  Member& member = self();
  std::int32_t kind = kmp_schedule(schedule).kind;
  T first = *bounds.lower;
  if (ompt::on()) ompt::work_begins(member, work_of(where, kind), bounds.trip());
  if (kind == kKmpDistribute || kind == kKmpDistributeChunked) {
    kind -= kKmpDistribute - kKmpStatic;
    give_part(bounds, kind, member.team->league_size, member.team->league, chunk);
  } else {
    give_part(bounds, kind, member.team->size, member.number, chunk);
  }
  if (ompt::on()) tell_first_chunk(member, bounds, first);
}

// Both at once: a block for each league, within which the members divide. `upper_of_league`: the
// end of the league's block.
template <class T>
void dist_for_static_init(std::int32_t schedule, const Bounds<T>& bounds, T* upper_of_league,
                          std::int64_t chunk) {
  Member& member = self();
  if (ompt::on()) ompt::work_begins(member, ompt::Work::distribute, bounds.trip());
  T first = *bounds.lower;
  std::int32_t last = 0;
  Bounds<T> of_league{bounds.lower, bounds.upper, bounds.stride, &last, bounds.step};
  give_part(of_league, kKmpStatic, member.team->league_size, member.team->league, 1);
  *upper_of_league = *bounds.upper;
  if (ompt::on()) tell_first_chunk(member, bounds, first);
  give_part(bounds, kmp_schedule(schedule).kind, member.team->size, member.number, chunk);
  if (bounds.last) *bounds.last = *bounds.last && last;
}

}  // namespace

extern "C" {

#define KMPC_STATIC(suffix, T, S)                                                                  \
  ROOST_EXPORT void __kmpc_for_static_init_##suffix(                                               \
      Ident* where, std::int32_t, std::int32_t schedule, std::int32_t* last, T* lower, T* upper,   \
      S* stride, S step, S chunk) {                                                                \
    ompt::Entry entry;                                                                             \
    for_static_init<T>(where, schedule, {lower, upper, stride, last, step}, chunk);                \
  }                                                                                                \
  ROOST_EXPORT void __kmpc_dist_for_static_init_##suffix(                                          \
      Ident*, std::int32_t, std::int32_t schedule, std::int32_t* last, T* lower, T* upper,         \
      T* upper_of_league, S* stride, S step, S chunk) {                                            \
    ompt::Entry entry;                                                                             \
    dist_for_static_init<T>(schedule, {lower, upper, stride, last, step}, upper_of_league, chunk); \
  }                                                                                                \
  /* Chunks in turn for the leagues. */                                                            \
  ROOST_EXPORT void __kmpc_team_static_init_##suffix(                                              \
      Ident*, std::int32_t, std::int32_t* last, T* lower, T* upper, S* stride, S step, S chunk) {  \
    Team& team = *self().team;                                                                     \
    give_part<T>({lower, upper, stride, last, step}, kKmpStaticChunked, team.league_size,          \
                 team.league, chunk);                                                              \
  }

KMPC_STATIC(4, std::int32_t, std::int32_t)
KMPC_STATIC(4u, std::uint32_t, std::int32_t)
KMPC_STATIC(8, std::int64_t, std::int64_t)
KMPC_STATIC(8u, std::uint64_t, std::int64_t)

ROOST_EXPORT void __kmpc_for_static_fini(Ident*, std::int32_t) {
  ompt::Entry entry;
  if (ompt::on()) ompt::work_ends(self());
}

}  // extern "C"
}  // namespace roost::omp

// Worksharing constructs in flight: the state a team shares about a loop, and what each member
// keeps.
//
// Members enter constructs in the same order, so the n-th they enter uses slot n modulo kWorkshares
// of a ring, and a member may be kWorkshares constructs ahead of the slowest (nowait). A slot is
// clean when it is entered: what a loop is, each member knows itself, and all that is shared begins
// as zero. So nobody has to set a loop up. The last member that leaves a construct cleans its slot
// and gives it to the construct kWorkshares later [room-1].
//
// What needs no shared state uses no slot: static loops that are not ordered, and all loops of
// teams of one.
//
// Cancellation: whoever cancels a loop or sections construct sets kCancelLoop or kCancelSections in
// Team::cancelled, which its members find at their next cancellation point. Members that are in
// another construct still get their iterations there. The bits are cleared by the
// last member that arrives at the team's next barrier (team_barrier(): such constructs may not be
// nowait), or at the end of the region. A member that leaves a cancelled loop without saying so
// (clang before 19 has no call for it) leaves it when it enters its next one. If it never does, its
// slot is not given on: the ring of a region in which anything was cancelled is therefore cleaned
// as a whole before the team's next region (`torn`). Who waits for others within a construct goes
// on when the whole region is cancelled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "omp/icv.h"
#include "omp/ompt_state.h"
#include "ult/carrier.h"

namespace roost::omp {

struct Member;
struct Team;
struct Workshare;

// A loop as the program states it. Iteration i, from 0 to trip - 1, has the value first + i * step
// of the loop's variable: modulo 2^64, the values extended from their own type.
struct LoopPlan {
  std::uint64_t first = 0;
  std::uint64_t end = 0;  // as the program said it: excluded by GCC's ABI, included by LLVM's
  std::uint64_t step = 1;
  std::uint64_t trip = 0;
  std::uint64_t chunk = 0;  // iterations; 0: the schedule's own
  Schedule schedule = Schedule::static_;
  bool runtime = false;    // schedule and chunk come from run-sched-var instead
  bool ordered = false;    // it has ordered regions
  bool shares = false;     // its members share more than its iterations, until they end it
  bool progress = false;   // it is a doacross loop
  bool stepwise = false;   // one iteration at a time even where one member has them all
  std::uint32_t unit = 1;  // chunks are multiples of it (simd)
  ompt::Work work = ompt::Work::loop;  // for a tool
};

// A region that is one loop: its members begin with it.
struct CombinedLoop {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  LoopPlan plan;
};

// How a member gets its next chunk.
enum class Handout : std::uint8_t {
  over,     // none
  block,    // one block: static without a chunk, and teams of one
  cyclic,   // static with a chunk
  dynamic,  // next chunk of a common count
  guided,   // a share of what is left
};

// A member's own part of the loop it is in.
struct LoopState {
  Workshare* workshare = nullptr;  // it has entered this one and not left it
  Workshare* doacross = nullptr;   // the same, if it is a doacross loop (GCC)
  Workshare* flags = nullptr;      // of a doacross loop (LLVM), entered besides the loop's own
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t step = 1;
  std::uint64_t trip = 0;
  std::uint64_t chunk = 1;
  std::uint64_t chunks = 0;
  std::uint64_t next = 0;  // cyclic: the next chunk's number
  // The chunk it has: iterations low to high - 1.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t ordered_done = 0;  // ordered regions it has ended in this chunk
  std::uint32_t size = 1;          // members
  Handout handout = Handout::over;
  bool ordered = false;
  bool shares = false;
  bool has_turn_to_pass = false;  // ordered: the chunk after its own has to be let go on
  bool has_turn = false;          // ordered: all chunks before its own are done
};

// What members of a doacross loop know of its shape.
struct DoacrossShape {
  std::uint64_t* dimensions = nullptr;             // iterations of each
  std::atomic<std::uint64_t>* progress = nullptr;  // see omp/doacross.h
  std::uint32_t n_dimensions = 0;
  std::uint32_t stride = 1;  // words from one entry of `progress` to the next
};

// Constructs a fast member may be ahead of the slowest (nowait): as many as it goes through while
// the slowest is without its core for a moment. A power of two.
inline constexpr unsigned kWorkshares = 32;
// Lists of those who wait within a construct: by what they wait for, so that few are woken in vain.
inline constexpr unsigned kGates = 8;

// Shared state of one construct.
struct alignas(kCoreStride) Workshare {
  // Read by all who enter.
  std::atomic<std::uint32_t> owner{0};  // the construct, counted from 0, that may use it [room-1]
  std::atomic<std::uint32_t> prepared{0};  // whether what follows is there: see first_to_prepare()
  std::atomic<std::uint64_t> decided{
      0};                  // schedule(runtime): what the first to come found; 0: none
  char* memory = nullptr;  // zeroed memory for what the members share
  const std::uintptr_t* reductions =
      nullptr;  // task reductions as the first to come registered them
  DoacrossShape doacross;
  char* buffer = nullptr;  // kept from construct to construct
  std::size_t buffer_bytes = 0;

  // Written by all for every chunk.
  alignas(kCoreStride) std::atomic<std::uint64_t> next{0};  // see Handout
  std::atomic<std::uint32_t> left{0};                       // members that are through

  // Ordered: the iteration whose ordered region is next.
  alignas(kCoreStride) std::atomic<std::uint64_t> turn{0};
  ult::WaitList gates[kGates];

  ult::WaitList& gate(std::uint64_t what) { return gates[(what * 0x9e3779b97f4a7c15u) >> 61]; }
};
static_assert(kGates == 8, "gate() takes three bits");

struct Workshares {
  Workshare slots[kWorkshares];
  ult::WaitList room;  // members that wait for a slot
  // Something was cancelled: not all members may have left all constructs.
  std::atomic<bool> torn{false};

  Workshares() {
    for (unsigned i = 0; i < kWorkshares; ++i) slots[i].owner.store(i, std::memory_order_relaxed);
  }
  // Before a region, while the team has no members at work: all slots are clean, the next construct
  // has the number 0.
  void mend();
};

// Enters the member's next construct with shared state; waits while the team's slowest member is
// kWorkshares constructs behind. Null if the region was cancelled meanwhile: the slowest may never
// come.
Workshare* enter_workshare(Member& member);
// Leaves it. The member must not look at it afterwards.
void leave_workshare(Member& member);
// The member that leaves last, instead of others who may still look at it: makes the slot clean.
void recycle(Member& member, Workshare& workshare);

// Whether the caller is the first member to come here in this construct: then it prepares what the
// members share, and calls prepared(). For others it returns when that is done.
bool first_to_prepare(Member& member, Workshare& workshare);
void prepared(Workshare& workshare);
// The region is cancelled: nobody waits for others within a construct any longer. By each member
// that leaves the region, since it may be the one that is waited for.
void wake_workshares(Team& team);
// Zeroed memory, aligned to cache lines, that lasts while the construct does. By the first to come.
char* shared_memory(Workshare& workshare, std::size_t bytes);

}  // namespace roost::omp

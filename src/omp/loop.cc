// Schedules, and the turns of ordered loops.
#include "omp/loop.h"

namespace roost::omp {
namespace {

constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 62;

std::uint64_t chunks_of(const LoopState& loop) {
  return loop.trip ? (loop.trip - 1) / loop.chunk + 1 : 0;
}

struct Decision {
  Schedule schedule;
  std::uint64_t chunk;
};

// The schedule of a loop that leaves it to run-sched-var: as the first to come finds it. The
// program may not give the members different ones, but some do, and a loop must be divided in one
// way.
Decision decide(Member& member, Workshare* workshare, std::uint32_t unit) {
  const Icvs& icvs = member.task->icvs;
  auto chunk = icvs.chunk > 0 ? static_cast<std::uint64_t>(icvs.chunk) : 0;
  if (chunk > kMostChunks >> 8) chunk = kMostChunks >> 8;
  // Chunks of one iteration, which are the default where a schedule has a least size, grow, too.
  bool shares_chunks = icvs.schedule == Schedule::dynamic || icvs.schedule == Schedule::guided;
  if (!chunk && unit > 1 && shares_chunks) chunk = 1;
  chunk *= unit;
  if (!workshare) return {icvs.schedule, chunk};
  std::uint64_t word = workshare->decided.load(std::memory_order_relaxed);
  if (!word) {
    std::uint64_t own = chunk << 3 | static_cast<std::uint64_t>(icvs.schedule);
    // Nothing else depends on it: the word is all.
    if (workshare->decided.compare_exchange_strong(word, own, std::memory_order_relaxed))
      word = own;
  }
  return {static_cast<Schedule>(word & 7), word >> 3};
}

void set_handout(LoopState& loop, Schedule schedule, std::uint64_t chunk, std::uint32_t number,
                 bool stepwise) {
  if (loop.size == 1 && !stepwise) {
    schedule = Schedule::static_;
    chunk = 0;
  }
  loop.chunk = chunk ? chunk : 1;
  switch (schedule) {
    case Schedule::dynamic:
      loop.handout = Handout::dynamic;
      loop.chunks = chunks_of(loop);
      if (loop.chunks > kMostChunks) {
        loop.chunk = 8;
        loop.chunks = chunks_of(loop);
      }
      return;
    case Schedule::guided:
      loop.handout = Handout::guided;
      return;
    case Schedule::static_:
    case Schedule::automatic:
      break;
  }
  if (schedule == Schedule::static_ && chunk) {
    loop.handout = Handout::cyclic;
    loop.chunks = chunks_of(loop);
    loop.next = number;
    return;
  }
  loop.handout = Handout::block;
  Block block = block_of(loop.trip, loop.size, number);
  loop.low = block.low;
  loop.high = block.high;
  loop.next = 0;  // it has not been handed out
}

// What it is to a tool. Guided, a team of one has one chunk.
ompt::Work work_of(const LoopPlan& plan, Schedule schedule, std::uint32_t size) {
  if (plan.work != ompt::Work::loop) return plan.work;
  switch (schedule) {
    case Schedule::dynamic:
      return ompt::Work::loop_dynamic;
    case Schedule::guided:
      return size > 1 ? ompt::Work::loop_guided : ompt::Work::loop_static;
    default:
      return ompt::Work::loop_static;
  }
}

bool next_guided(LoopState& loop) {
  std::atomic<std::uint64_t>& next = loop.workshare->next;
  std::uint64_t low = next.load(std::memory_order_relaxed);
  std::uint64_t share;
  do {
    std::uint64_t rest = loop.trip - low;
    if (!rest) return false;
    share = rest / loop.size + (rest % loop.size != 0);
    if (loop.chunk > 1) {
      // Both a least size and, for simd, a unit.
      share = share > loop.chunk ? (share - 1) / loop.chunk * loop.chunk + loop.chunk : loop.chunk;
    }
    if (share > rest) share = rest;
  } while (!next.compare_exchange_weak(low, low + share, std::memory_order_acq_rel,
                                       std::memory_order_relaxed));
  loop.low = low;
  loop.high = low + share;
  return true;
}

bool next_cyclic(LoopState& loop) {
  std::uint64_t number = loop.next;
  if (number >= loop.chunks) return false;
  set_chunk(loop, number);
  loop.next = loop.chunks - number > loop.size ? number + loop.size : loop.chunks;
  return true;
}

}  // namespace

void begin_loop(Member& member, const LoopPlan& plan) {
  LoopState& loop = member.loop;
  if (__builtin_expect(loop.workshare != nullptr, 0)) leave_workshare(member);  // it was cancelled
  Team& team = *member.team;
  loop.first = plan.first;
  loop.end = plan.end;
  loop.step = plan.step;
  loop.trip = plan.trip;
  loop.size = team.size;
  loop.ordered = plan.ordered;
  loop.shares = plan.shares;
  loop.has_turn_to_pass = false;
  loop.doacross = nullptr;
  bool divided = plan.runtime || plan.ordered || plan.progress ||
                 plan.schedule == Schedule::dynamic || plan.schedule == Schedule::guided;
  if ((team.size > 1 && divided) || plan.shares) {
    loop.workshare = enter_workshare(member);
    if (!loop.workshare) {
      loop.handout = Handout::over;
      return;
    }
  }
  Decision by = plan.runtime ? decide(member, loop.workshare, plan.unit)
                             : Decision{plan.schedule, plan.chunk};
  if (ompt::on())
    ompt::work_begins(member, work_of(plan, by.schedule, member.team->size), plan.trip);
  // Blocks end where a unit does.
  if (plan.unit > 1 && !by.chunk && by.schedule != Schedule::dynamic && plan.trip) {
    std::uint64_t share = (plan.trip - 1) / team.size + 1;
    by = {Schedule::static_, (share - 1) / plan.unit * plan.unit + plan.unit};
  }
  // Where nothing is shared, one iteration at a time is a static loop of chunks.
  if (plan.stepwise && team.size == 1) by = {Schedule::static_, 1};
  set_handout(loop, by.schedule, by.chunk, member.number, plan.stepwise);
}

bool next_chunk_of(Member& member) {
  LoopState& loop = member.loop;
  bool found = false;
  switch (loop.handout) {
    case Handout::over:
      return false;
    case Handout::block:
      // begin_loop() has set the bounds.
      found = loop.low < loop.high && !loop.next;
      loop.next = 1;
      break;
    case Handout::cyclic:
      found = next_cyclic(loop);
      break;
    case Handout::dynamic: {
      // A dynamic loop has a slot. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
      std::uint64_t number = loop.workshare->next.fetch_add(1, std::memory_order_acq_rel);
      found = number < loop.chunks;
      if (found) set_chunk(loop, number);
      break;
    }
    case Handout::guided:
      found = next_guided(loop);
      break;
  }
  if (found) return true;
  // What members share stays until they end the loop.
  if (loop.workshare && !loop.shares) leave_workshare(member);
  loop.handout = Handout::over;
  return false;
}

void no_chunk_left(Member& member, std::uint64_t next) {
  LoopState& loop = member.loop;
  Workshare& workshare = *loop.workshare;
  loop.workshare = nullptr;
  loop.doacross = nullptr;
  loop.handout = Handout::over;
  // [left-1] by the addition that returned `next`.
  if (next - loop.chunks == loop.size - 1) recycle(member, workshare);
}

void end_loop(Member& member) {
  LoopState& loop = member.loop;
  ompt::work_ends(member);
  if (loop.workshare) leave_workshare(member);
  loop.handout = Handout::over;
}

// ---- Ordered ------------------------------------------------------------------------------------

namespace {

void await_turn(Member& member) {
  LoopState& loop = member.loop;
  if (loop.has_turn) return;
  Workshare& workshare = *loop.workshare;
  // [turn-1] What earlier ordered regions did is visible.
  auto mine = [&] { return workshare.turn.load(std::memory_order_acquire) == loop.low; };
  if (!mine()) {
    auto ready = [&] { return mine() || region_cancelled(*member.team); };
    ult::wait_until(workshare.gate(loop.low), {.under = member.team}, ready);
    // Of a cancelled region: a member with an earlier chunk may never come.
    if (!mine()) {
      loop.has_turn_to_pass = false;
      return;
    }
  }
  ult::happens_after(&workshare.turn);
  loop.has_turn = true;
}

void pass_turn(LoopState& loop) {
  Workshare& workshare = *loop.workshare;
  std::uint64_t next = loop.high;
  loop.has_turn_to_pass = false;
  ult::happens_before(&workshare.turn);
  workshare.turn.store(next, std::memory_order_seq_cst);  // [turn-1]
  // The slot is still this loop's, since the caller has not left it.
  if (next != loop.trip) workshare.gate(next).wake_all();
}

}  // namespace

bool next_ordered_chunk(Member& member) {
  LoopState& loop = member.loop;
  if (loop.has_turn_to_pass && loop.workshare) {
    await_turn(member);
    if (loop.has_turn_to_pass) pass_turn(loop);
  }
  // There are no turns any more in a cancelled region.
  if (region_cancelled(*member.team)) loop.handout = Handout::over;
  bool found = loop.handout != Handout::over && next_chunk(member);
  loop.ordered_done = 0;
  loop.has_turn = false;
  loop.has_turn_to_pass = found && loop.workshare;
  return found;
}

void begin_ordered(Member& member) {
  ompt::Acquire event(ompt::Mutex::ordered, &member.team->workshares);
  if (member.loop.has_turn_to_pass) await_turn(member);
}

void end_ordered(Member& member) {
  LoopState& loop = member.loop;
  // An iteration has one ordered region at most: after the last one nothing ordered follows.
  if (loop.has_turn_to_pass && ++loop.ordered_done == loop.high - loop.low) pass_turn(loop);
  ompt::released(ompt::Mutex::ordered, &member.team->workshares);
}

}  // namespace roost::omp

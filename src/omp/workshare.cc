// The ring of constructs: entering, leaving, cleaning.
#include "omp/workshare.h"

#include <sys/mman.h>

#include <cstring>

#include "omp/team.h"

namespace roost::omp {
namespace {

// Larger buffers are given back after the construct: fresh pages are zero without a memset.
constexpr std::size_t kKeptBuffer = std::size_t{256} << 10;

void give_buffer_back(Workshare& workshare) {
  if (workshare.buffer) munmap(workshare.buffer, workshare.buffer_bytes);
  workshare.buffer = nullptr;
  workshare.buffer_bytes = 0;
}

// All but the owner.
void clean(Workshare& workshare) {
  workshare.next.store(0, std::memory_order_relaxed);
  workshare.left.store(0, std::memory_order_relaxed);
  if (workshare.turn.load(std::memory_order_relaxed))
    workshare.turn.store(0, std::memory_order_relaxed);
  if (workshare.decided.load(std::memory_order_relaxed))
    workshare.decided.store(0, std::memory_order_relaxed);
  if (workshare.prepared.load(std::memory_order_relaxed)) {
    workshare.memory = nullptr;
    workshare.reductions = nullptr;
    if (workshare.buffer_bytes > kKeptBuffer) give_buffer_back(workshare);
    workshare.prepared.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

Workshare* enter_workshare(Member& member) {
  Team& team = *member.team;
  std::uint32_t number = member.workshares++;
  Workshare& workshare = team.workshares.slots[number % kWorkshares];
  // [room-1] acquire: what its last users left is clean.
  auto mine = [&] { return workshare.owner.load(std::memory_order_acquire) == number; };
  if (__builtin_expect(mine(), 1)) return &workshare;
  auto ready = [&] { return mine() || region_cancelled(team); };
  ult::wait_until(team.workshares.room, {.under = &team}, ready);
  return mine() ? &workshare : nullptr;
}

void wake_workshares(Team& team) {
  // [cancel-2] The bit was set by a sequentially consistent operation of this or another member.
  team.workshares.room.wake_all();
  for (Workshare& workshare : team.workshares.slots)
    for (ult::WaitList& gate : workshare.gates) gate.wake_all();
}

void recycle(Member& member, Workshare& workshare) {
  Workshares& ring = member.team->workshares;
  clean(workshare);
  std::uint32_t number = workshare.owner.load(std::memory_order_relaxed);
  workshare.owner.store(number + kWorkshares, std::memory_order_seq_cst);  // [room-1]
  ring.room.wake_all();
}

void leave_workshare(Member& member) {
  LoopState& loop = member.loop;
  Workshare& workshare = *loop.workshare;
  loop.workshare = nullptr;
  loop.doacross = nullptr;
  bool last;
  if (loop.handout == Handout::dynamic && !loop.shares) {
    // Who finds no chunk left has left (omp/loop.h): the count goes on above the chunks. Who leaves
    // before takes the rest away from the others, since it leaves a cancelled loop.
    std::uint64_t next = workshare.next.load(std::memory_order_relaxed);
    bool counted = false;
    while (next < loop.chunks && !counted) {
      counted =
          workshare.next.compare_exchange_strong(next, loop.chunks + 1, std::memory_order_acq_rel);
    }
    if (!counted) next = workshare.next.fetch_add(1, std::memory_order_acq_rel);
    last = counted ? loop.size == 1 : next - loop.chunks == loop.size - 1;
  } else {
    // [left-1] What members did with the slot comes before the last one cleans it.
    last = workshare.left.fetch_add(1, std::memory_order_acq_rel) == loop.size - 1;
  }
  loop.handout = Handout::over;
  if (last) recycle(member, workshare);
}

void Workshares::mend() {
  for (unsigned i = 0; i < kWorkshares; ++i) {
    clean(slots[i]);
    slots[i].owner.store(i, std::memory_order_relaxed);
  }
  torn.store(false, std::memory_order_relaxed);
}

// ---- What the first to come prepares ------------------------------------------------------------

namespace {
constexpr std::uint32_t kPreparing = 1;
constexpr std::uint32_t kPrepared = 2;
}  // namespace

bool first_to_prepare(Member& member, Workshare& workshare) {
  std::uint32_t state = workshare.prepared.load(std::memory_order_acquire);  // [prepared-1]
  if (state == 0 &&
      workshare.prepared.compare_exchange_strong(state, kPreparing, std::memory_order_acquire)) {
    return true;
  }
  auto ready = [&] {
    return workshare.prepared.load(std::memory_order_acquire) == kPrepared;  // [prepared-1]
  };
  // Not given up when the region is cancelled: the first one prepares it in any case.
  if (!ready()) ult::wait_until(workshare.gates[0], {.under = member.team}, ready);
  return false;
}

void prepared(Workshare& workshare) {
  workshare.prepared.store(kPrepared, std::memory_order_seq_cst);  // [prepared-1]
  workshare.gates[0].wake_all();
}

char* shared_memory(Workshare& workshare, std::size_t bytes) {
  if (bytes > workshare.buffer_bytes) {
    give_buffer_back(workshare);
    std::size_t size = 4096;
    while (size < bytes) size *= 2;
    void* fresh = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED)
      ult::out_of_memory("what the members of a worksharing construct share");
    workshare.buffer = static_cast<char*>(fresh);
    workshare.buffer_bytes = size;
  } else if (bytes) {
    std::memset(workshare.buffer, 0, bytes);
  }
  return workshare.buffer;
}

}  // namespace roost::omp

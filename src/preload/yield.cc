// sched_yield: hands the core to a READY thread if there is one, else it is the kernel's yield, but
// for most of many that follow each other and return at once.
//
// Programs yield in loops that wait for a word of memory (OpenBLAS waits for other threads' tiles
// so, in hundreds of places). Which word is read off the caller's loop (spin/yield_proof.h); until
// it changes, other threads of the process are granted the core instead of this one. Of whom that
// cannot be told may have nothing to do, nor may those to whom it hands the core: a pool's threads
// that look for work. So siblings at large have the CPU first
// (docs/design/043-siblings-at-large-first.md). And who seems to be on its way, not waiting, goes
// on for some microseconds (docs/design/045-yields-in-passing.md).
#include "preload/yield.h"

#include <atomic>

#include "base/passing_yields.h"
#include "base/ticks.h"
#include "os/sys.h"
#include "preload/blas_calls.h"
#include "preload/counted_yield.h"
#include "preload/defer_cancellation.h"
#include "preload/give_way.h"
#include "preload/light.h"
#include "preload/wait.h"
#include "preload/wait_loads.h"
#include "sched/runtime_os.h"
#include "spin/yield_proof.h"

namespace roost {

extern "C" {
// What preload/yield_entry.S has pushed.
struct YieldFrame {
  std::uint64_t r15, r14, r13, r12, rbp, rbx, return_address;
};
__attribute__((visibility("hidden"))) int roost_yield_from(const YieldFrame*);
}

namespace {

// Call sites that keep their secret: after so many failures in a row they are asked no more.
// Threads that were leaving the site's loop each time were mostly on their way.
constexpr std::uint32_t kMaxFailures = 64, kMostlyLeft = 48;
struct SiteMemory {
  std::atomic<std::uint64_t> return_address;
  std::atomic<std::uint32_t> failures;
  std::atomic<std::uint32_t> left;  // of those
};
SiteMemory site_memories[256];

SiteMemory& memory_of(std::uint64_t return_address) {
  return site_memories[(return_address * 0x9e3779b97f4a7c15u) >> 56];
}

bool is_hopeless(const SiteMemory& memory, std::uint64_t return_address) {
  return memory.return_address.load(std::memory_order_relaxed) == return_address &&
         memory.failures.load(std::memory_order_relaxed) >= kMaxFailures;
}

bool is_mostly_left(const SiteMemory& memory, std::uint64_t return_address) {
  return is_hopeless(memory, return_address) &&
         memory.left.load(std::memory_order_relaxed) >= kMostlyLeft;
}

void remember(SiteMemory& memory, std::uint64_t return_address, const spin::YieldProof& proof) {
  std::uint32_t failures = 0, left = 0;
  if (!proof.waits && memory.return_address.load(std::memory_order_relaxed) == return_address) {
    failures = memory.failures.load(std::memory_order_relaxed) + 1;
    left = memory.left.load(std::memory_order_relaxed) + proof.leaves;
  }
  memory.left.store(left, std::memory_order_relaxed);
  memory.failures.store(failures, std::memory_order_relaxed);
  memory.return_address.store(return_address, std::memory_order_relaxed);
}

// As the call leaves them.
spin::Registers registers_of(const YieldFrame& frame) {
  spin::Registers registers{};
  registers.general[3] = frame.rbx;
  registers.general[4] = reinterpret_cast<std::uint64_t>(&frame + 1);
  registers.general[5] = frame.rbp;
  registers.general[12] = frame.r12;
  registers.general[13] = frame.r13;
  registers.general[14] = frame.r14;
  registers.general[15] = frame.r15;
  registers.instruction_pointer = frame.return_address;
  return registers;
}

bool find_wait(const YieldFrame& frame, WaitWords& wait) {
  constexpr std::uint64_t kPage = 4096, kMostCode = 128, kCallBytes = 6;
  SiteMemory& memory = memory_of(frame.return_address);
  if (is_hopeless(memory, frame.return_address)) return false;
  // The call has been executed, and so can be read, and with it the rest of its pages.
  std::uint64_t call = frame.return_address - kCallBytes;
  std::uint64_t from = frame.return_address - kMostCode, end = frame.return_address + kMostCode;
  if (from < call / kPage * kPage) from = call / kPage * kPage;
  if (end > (frame.return_address / kPage + 1) * kPage)
    end = (frame.return_address / kPage + 1) * kPage;
  spin::YieldProof proof =
      spin::prove_yield(registers_of(frame), reinterpret_cast<const std::uint8_t*>(from),
                        end - from, from, read_directly);
  remember(memory, frame.return_address, proof);
  if (!proof.waits) return false;
  // A light thread is not the only one that waits for its OS thread's turn.
  bool short_wait = proof.looks_at_clock || has_light_siblings();
  wait = wait_for(proof.loads, short_wait ? kTimedPatience : kMemoryPatience);
  return true;
}

std::uint64_t name_of(const YieldFrame& f) {
  return name_of_wait(f.return_address, {f.rbx, f.rbp, f.r12, f.r13, f.r14, f.r15});
}
// The name of a wait in a piece of a BLAS call, or 0: other loops may count their rounds in a
// register, and would never look as if they waited in vain.
std::uint64_t wait_of(const YieldFrame& f) { return in_blas_call() ? name_of(f) : 0; }

constinit thread_local PassingYields passing __attribute__((tls_model("initial-exec"))) = {};

}  // namespace

void yield() {
  if (!can_park() || !yield_core()) os::yield();
}

void let_ready_thread_run() {
  if (!can_park() || !runtime_ledger().any_queued()) return;
  DeferCancellation deferred;
  give_way_to_siblings_at_large();
  yield_core(nullptr);
}

void let_others_run() {
  if (!let_light_sibling_run()) let_ready_thread_run();
}

int roost_yield_from(const YieldFrame* frame) {
  follow_changed_policy();
  bool parks = can_park();
  if (parks && (is_light() || runtime_ledger().any_queued()))
    shorten_spin_before(registers_of(*frame));
  bool threads_first = parks && lets_threads_go_first();
  if (!threads_first && let_light_sibling_run(wait_of(*frame))) return 0;
  if (!parks) {
    os::yield();
    return 0;
  }
  WaitWords wait;
  bool queued = runtime_ledger().any_queued();
  bool known = queued && find_wait(*frame, wait);
  bool passes_by = queued && !known && !is_light() && has_core() &&
                   is_mostly_left(memory_of(frame->return_address), frame->return_address);
  if (passes_by && passing.goes_on(name_of(*frame), ticks())) return 0;
  {
    DeferCancellation deferred;
    if (queued && !known) give_way_to_siblings_at_large();
    bool yielded = yield_core(known ? &wait : nullptr);
    if (passes_by) passing.returned(ticks());
    if (yielded) return 0;
  }
  // Those who wait for the core wait for their words, too.
  if (threads_first && let_light_sibling_run()) return 0;
  give_way();
  return 0;
}

}  // namespace roost

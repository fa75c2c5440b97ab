// What a round through a rewritten loop's stub does, and a thread that is to yield where a signal
// has interrupted it.
#include <string.h>

#include <algorithm>

#include "os/sys.h"
#include "preload/defer_cancellation.h"
#include "preload/fault_handlers.h"
#include "preload/give_way.h"
#include "preload/light.h"
#include "preload/spin_site.h"
#include "preload/spin_stub.h"
#include "preload/wait_loads.h"
#include "sched/runtime.h"
#include "sched/runtime_os.h"
#include "spin/saved_call.h"

namespace roost {

void yield_after(const spin::WaitProof& proof) {
  WaitWords wait = wait_for(proof.loads, kMemoryPatience);
  // Of light threads, each waits for words of its own.
  bool known = proof.all_loads && proof.loads.count() > 0 && !has_light_siblings();
  // With a core that nobody is READY for, it lets those run who have to be on its CPU without one.
  if (!yield_core(known ? &wait : nullptr)) give_way_to_those_at_large();
}

}  // namespace roost

#if defined(__x86_64__)

namespace roost {

extern "C" {
__attribute__((visibility("hidden"))) void roost_spin_pass(const SpinFrame*);
__attribute__((visibility("hidden"))) void roost_nudge_return();
}

namespace {

constexpr std::uint8_t kHeadsOfWaiter = 16;
// A head is the program's again once looks at it were in vain so much more often than not, one that
// was not counting as some.
constexpr std::int32_t kMostInVain = 64, kWorthOfWait = 8;
// For so long at first; twice as long each time it comes to that again, but no longer than this.
constexpr Nanoseconds kLeftFirst = 100'000'000, kLeftLongest = 10'000'000'000;
// Of the calling thread's light threads.
constinit thread_local unsigned interrupted_yields = 0;

spin::Registers registers_of(const SpinFrame& f) {
  spin::Registers r{};
  const std::uint64_t general[16] = {
      f.rax, f.rcx, f.rdx, f.rbx, reinterpret_cast<std::uint64_t>(&f + 1),
      f.rbp, f.rsi, f.rdi, f.r8,  f.r9,
      f.r10, f.r11, f.r12, f.r13, f.r14,
      f.r15};
  memcpy(r.general, general, sizeof general);
  r.instruction_pointer = f.site->target;
  r.flags = static_cast<std::uint32_t>(f.flags) & spin::kFlags;
  return r;
}

// The wait that the thread is in: registers do not change from one round of it to the next.
std::uint64_t wait_of(const SpinFrame& f) {
  return name_of_wait(f.site->branch, {f.rax, f.rcx, f.rdx, f.rbx, f.rbp, f.rsi, f.rdi, f.r8, f.r9,
                                       f.r10, f.r11, f.r12, f.r13, f.r14, f.r15});
}

// Who comes to the head does not wait, mostly.
void leave(Site& site) {
  Nanoseconds before = site.left_for.load(std::memory_order_relaxed);
  Nanoseconds now_for = before == 0 ? kLeftFirst : std::min(2 * before, kLeftLongest);
  site.left_for.store(now_for, std::memory_order_relaxed);
  site.left_until.store(os::now() + now_for, std::memory_order_relaxed);
  site.in_vain.store(0, std::memory_order_relaxed);
}

// Somebody at the head was looked at. True if it waits.
bool weigh_head(const Site& looked_at, bool waits) {
  auto& site = const_cast<Site&>(looked_at);
  heads = waits ? kHeadsOfWaiter : 0;
  // Counts of several threads at once may get lost.
  std::int32_t in_vain = site.in_vain.load(std::memory_order_relaxed);
  in_vain = waits ? (in_vain > kWorthOfWait ? in_vain - kWorthOfWait : 0) : in_vain + 1;
  site.in_vain.store(in_vain, std::memory_order_relaxed);
  if (in_vain > kMostInVain) {
    DeferCancellation guard;
    leave(site);
    spin_sites_look();
  }
  return waits;
}

// A spin of the calling thread, from `pause` to `pause` while threads are READY.
struct Pauses {
  Nanoseconds last;    // when it came by one
  std::uint32_t left;  // until it yields
  std::uint32_t yields;
};
constinit thread_local Pauses pauses __attribute__((tls_model("initial-exec"))) = {};

// What it waits for may be done by one that runs: that takes a moment, unless its last spin took
// longer, too. Then it yields, at first for a short while, as nothing tells when that has come.
void pass_pause() {
  constexpr Nanoseconds kSameSpin = 20'000, kShortest = 50'000;
  constexpr std::uint32_t kAtFirst = 32, kAgain = 8, kMostDoubled = 3;
  passes.store(passes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  Nanoseconds now = os::now();
  if (now - pauses.last > kSameSpin) pauses = {now, pauses.yields ? kAgain : kAtFirst, 0};
  pauses.last = now;
  if (pauses.left > 1) {  // a handler may have come by one, too
    --pauses.left;
    return;
  }
  pauses.left = kAgain;
  DeferCancellation guard;
  // Its stack could not be unwound from here, and a handler may jump out: it yields where it is
  // asked.
  if (guard.was_asynchronous()) return;
  if (__builtin_expect(loops_are_left(), 0)) spin_sites_look();
  WaitWords wait{};
  wait.patience = kShortest << std::min(pauses.yields++, kMostDoubled);
  if (!yield_core(&wait)) give_way_to_those_at_large();
  pauses.last = os::now();
}

void yield_where_interrupted() {
  ++interrupted_yields;
  if (!let_light_sibling_run()) {
    tell_of_spinner();
    DeferCancellation guard;
    if (!yield_core()) give_way_to_those_at_large();
  }
  --interrupted_yields;
}

}  // namespace

bool yields_where_interrupted() { return interrupted_yields != 0; }

void return_into_yield(ucontext_t& interrupted) {
  if (spin::on_alternate_stack(interrupted) || !spin::can_save_registers()) return;
  spin::go_on_by(&roost_nudge_return, interrupted);
}

void roost_spin_pass(const SpinFrame* frame) {
  if (!can_park()) return;
  if (!frame->site) return yield_where_interrupted();
  const Site& site = *frame->site;
  // A light thread may not stop anywhere: the watch finds what it waits for, if it does.
  if (site.is_pause) return is_light() ? void() : pass_pause();
  auto prove = [&] {
    // It may be about to fault, at an instruction that its handler is to find where it was.
    bool may_fault = jumps_at_target(site) && leads_fault_handlers();
    return prove_wait(registers_of(*frame), site.code, may_fault ? read_carefully : read_directly,
                      4 * kShortRound);
  };
  spin::WaitProof proof;
  if (jumps_at_target(site)) {
    proof = prove();
    if (!weigh_head(site, proof.waits)) return;
  }
  // One that is at large is to queue itself.
  bool queued = runtime_ledger().any_queued() || !has_core();
  if (queued || is_light())
    passes.store(passes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (is_light() && let_light_sibling_run(wait_of(*frame))) return;
  tell_of_spinner();
  DeferCancellation guard;
  if (__builtin_expect(loops_are_left(), 0)) spin_sites_look();  // there may be no keeper
  // A light thread whose siblings have nothing to do, either, or one that has spun for 256 rounds.
  if (!queued) return give_way_to_those_at_large();
  if (site.steps <= kShortRound) {
    if (!proof.waits) proof = prove();
    if (proof.waits) yield_after(proof);
  } else if (!yield_core()) {
    give_way_to_those_at_large();
  }
}

}  // namespace roost

#else

namespace roost {
void return_into_yield(ucontext_t&) {}
bool yields_where_interrupted() { return false; }
}  // namespace roost

#endif

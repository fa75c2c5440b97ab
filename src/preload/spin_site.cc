// The table of rewritten loops, how they are changed, and the way back.
#include "preload/spin_site.h"

#include <string.h>

#include "os/sys.h"
#include "preload/code_patch.h"
#include "preload/fault_handlers.h"
#include "preload/fork_gate.h"
#include "preload/function_bounds.h"
#include "preload/own_stack.h"
#include "preload/spin_stub.h"
#include "preload/unload.h"
#include "sched/runtime.h"
#include "sched/runtime_os.h"
#include "spin/detour.h"
#include "spin/saved_call.h"

#if defined(__x86_64__)

namespace roost {

std::atomic<std::uint32_t> passes{0};

namespace {

constexpr unsigned kMaxSites = 256;
// So long nobody must have been READY before loops are restored: a loop changes once a second at
// most, and those of a program that is oversubscribed by and by are not changed at each turn.
constexpr Nanoseconds kQuiet = 1'000'000'000;

constinit Site sites[kMaxSites] = {};
std::atomic<unsigned> n_sites{0};
std::atomic<bool> busy{false};  // somebody changes loops, or their entries
std::atomic<unsigned> n_restored{0}, n_forgotten{0};
// Of who looks, while it has `busy`.
std::uint32_t seen_passes;
Nanoseconds last_needed;

Site* find_site(std::uint64_t branch) {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    if (sites[i].branch == branch) return &sites[i];
  }
  return nullptr;
}

bool plan(Site& site, std::uint8_t* stub) {
  constexpr std::uint64_t kBefore = 32 * 1024, kBehind = 8 * 1024;
  FunctionBounds function;
  if (!find_function_unforked(site.branch, function) || site.branch - function.start > kBefore)
    return false;
  std::uint64_t end = function.end + kBehind;
  if (end > function.text_end || function.end > function.text_end) end = function.text_end;
  const auto* code = reinterpret_cast<const std::uint8_t*>(function.start);
  std::size_t size = end - function.start;
  if (site.is_pause)
    return plan_pause(code, size, function.start, site.branch,
                      reinterpret_cast<std::uint64_t>(stub), site.detour);
  if (plan_detour(code, size, function.start, site.branch, reinterpret_cast<std::uint64_t>(stub),
                  site.detour))
    return true;
  // Who comes to the head need not be in the loop: it is looked at before it yields.
  return site.steps <= kShortRound && site.target >= function.start &&
         plan_jump(code, size, function.start, site.target, reinterpret_cast<std::uint64_t>(stub),
                   site.detour);
}

unsigned active_loops() {
  unsigned count = 0;
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i)
    count += sites[i].active.load(std::memory_order_relaxed);
  return count;
}

// Hops and stub are there. `active` is never less than the truth, also in a child forked meanwhile.
bool lead_through_stub(Site& site) {
  const spin::Detour& detour = site.detour;
  if (jumps_at_target(site)) lead_fault_handlers();
  site.active.store(true, std::memory_order_relaxed);
  if (!write_at_once(detour.change_address, detour.change, detour.change_size)) {
    site.active.store(false, std::memory_order_relaxed);
    return false;
  }
  synchronise_code();
  return true;
}

bool write_hops(Site& site) {
  const spin::Detour& detour = site.detour;
  memcpy(site.change_before, reinterpret_cast<void*>(detour.change_address), detour.change_size);
  for (unsigned i = 0; i < detour.n_hops; ++i) {
    const spin::Hop& hop = detour.hops[i];
    memcpy(site.hops_before[i], reinterpret_cast<void*>(hop.address), hop.size);
    if (!write_unused_code(hop.address, hop.bytes, hop.size)) return false;
  }
  // Whoever takes the branch from now on must find the hops, not what was there before.
  synchronise_code();
  return true;
}

// Whether another change, in force or not, is of some of the same bytes.
bool overlaps_another(const Site& site) {
  const spin::Detour& own = site.detour;
  for (unsigned i = 0; i < n_sites.load(std::memory_order_relaxed); ++i) {
    const spin::Detour& other = sites[i].detour;
    if (&sites[i] == &site || !sites[i].has_detour) continue;
    if (own.change_address < other.change_address + other.change_size &&
        other.change_address < own.change_address + own.change_size)
      return true;
  }
  return false;
}

bool rewrite(Site& site) {
  if (is_writable_code(site.branch)) return false;
  std::uint8_t* page = allocate_code_page(site.branch);
  if (!page) return false;
  site.page = page;
  if (plan(site, page) && !overlaps_another(site) && assemble_stub(page, site) &&
      publish_code_page(page) && write_hops(site) && lead_through_stub(site))
    return true;
  free_code_page(page);
  site.page = nullptr;
  return false;
}

bool reads(std::uint64_t address, const void* expected, std::size_t size) {
  std::uint8_t found[sizeof(spin::CodeWindow::bytes)];
  return os::read_own_memory(address, found, size) && memcmp(found, expected, size) == 0;
}

// False if the loop is as the program has it, or the object was unloaded.
bool leads_to_stub(const Site& site) {
  const spin::Detour& detour = site.detour;
  return reads(detour.change_address, detour.change, detour.change_size);
}

// Whether the program's code is as it was read. It was read before its reader kept others from
// changing it, and may hold a change of theirs that had no entry yet.
bool is_current(const spin::CodeWindow& code) {
  spin::CodeWindow now{code.address, code.size, {}};
  if (!os::read_own_memory(now.address, now.bytes, now.size)) return false;
  undo_rewrites(now);
  return memcmp(now.bytes, code.bytes, now.size) == 0;
}

// False once the object was unloaded, even if another lies there.
bool same_code(const Site& site) {
  const spin::Detour& detour = site.detour;
  for (unsigned i = 0; i < detour.n_hops; ++i) {
    if (!reads(detour.hops[i].address, detour.hops[i].bytes, detour.hops[i].size)) return false;
  }
  return is_current(site.code);
}

bool is_left(const Site& site) {
  Nanoseconds until = site.left_until.load(std::memory_order_relaxed);
  return until != 0 && os::now() < until;
}

// Before it becomes another loop's.
void clear(Site& site) {
  site.target = site.steps = 0;
  site.is_pause = false;
  site.page = nullptr;
  site.copy_size = 0;
  site.in_vain.store(0, std::memory_order_relaxed);
  site.left_until.store(0, std::memory_order_relaxed);
  site.left_for.store(0, std::memory_order_relaxed);
}

// The change at `address`, made by `change(site)` the first time.
template <class Change>
bool change_code(std::uint64_t address, const spin::CodeWindow& code, Change&& change) {
  unsigned n = n_sites.load(std::memory_order_relaxed);
  Site* site = find_site(address);
  if (site && (!site->has_detour || is_left(*site))) return false;
  if (site && leads_to_stub(*site)) return true;
  if (site && same_code(*site)) return lead_through_stub(*site);
  if (!is_current(code)) return false;
  if (!site) site = find_site(0);
  if (!site && n == kMaxSites) return false;
  bool is_new = !site;
  if (is_new) site = &sites[n];
  clear(*site);
  site->branch = address;
  site->code = code;
  site->has_detour = change(*site);
  if (is_new) n_sites.store(n + 1, std::memory_order_release);
  return site->has_detour;
}

bool rewrite_branch(const spin::BackwardBranch& branch, const spin::WaitProof& proof,
                    const spin::CodeWindow& code) {
  return change_code(branch.address, code, [&](Site& site) {
    site.target = branch.target;
    site.steps = proof.steps;
    return rewrite(site);
  });
}

// Of a wait of so many rounds, the highest byte of that number becomes 0: one byte, as in a branch.
bool shorten(const spin::CountedWait& wait, const spin::CodeWindow& code) {
  return change_code(wait.comparison, code, [&](Site& site) {
    // Code of no object may be shared with others, or be changed by who made it.
    FunctionBounds function;
    if (!find_function_unforked(wait.comparison, function)) return false;
    unsigned highest = (31u - static_cast<unsigned>(__builtin_clz(wait.rounds))) / 8;
    site.detour = {wait.bound + highest, 1, {}, 0, {}};
    return !overlaps_another(site) && write_hops(site) && lead_through_stub(site);
  });
}

// While it lives nobody else changes code, no fork cuts a change in two, and no handler of the
// program's jumps out of it.
class Alone {
 public:
  Alone() : mine_(unforked_ && !busy.exchange(true, std::memory_order_acquire)) {}
  ~Alone() {
    if (mine_) busy.store(false, std::memory_order_release);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  BlockSignals blocked_;
  Unforked unforked_{Unforked::Unless{}};
  bool mine_;
};

// Says false where another is at it.
template <class Change>
bool alone(Change&& change) {
  if (!spin::can_save_registers() || loops_are_left()) return false;
  Alone section;
  if (!section) return false;
  bool done = change();
  runtime_show_loops(active_loops());
  return done;
}

// The branch is the program's own again. Hops and stub stay: a thread may be on its way through
// them, or come back to there from a signal handler at any time.
void restore(Site& site) {
  const spin::Detour& detour = site.detour;
  if (leads_to_stub(site) && same_code(site)) {
    if (!write_at_once(detour.change_address, site.change_before, detour.change_size)) return;
    n_restored.fetch_add(1, std::memory_order_relaxed);
  }
  site.active.store(false, std::memory_order_relaxed);
}

// Those of which `wanted` is true.
template <class Wanted>
void restore_sites(Wanted&& wanted) {
  WhileLoaded loaded;
  if (!loaded) return;
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    if (sites[i].active.load(std::memory_order_relaxed) && wanted(sites[i])) restore(sites[i]);
  }
  synchronise_code();
  runtime_show_loops(active_loops());
}

bool any_left() {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i)
    if (sites[i].active.load(std::memory_order_relaxed) && is_left(sites[i])) return true;
  return false;
}

// Whether the pause is of a loop of which each round yields. (A shortened wait has no target.)
bool yields_in_its_loop(std::uint64_t pause) {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    const Site& site = sites[i];
    if (site.active.load(std::memory_order_relaxed) && !site.is_pause && site.target != 0 &&
        site.target <= pause && pause < site.branch)
      return true;
  }
  return false;
}

// Whether threads of this process are at large and use the CPU.
bool threads_share() {
  return any_thread(runtime_segment(), [](ThreadIndex, const ThreadRecord<RealWorld>& record) {
    return record.process == runtime_process() &&
           is_at_large(record.state.load(std::memory_order_relaxed)) &&
           os::thread_run_state(os::getpid(), record.tid.load(std::memory_order_relaxed)) == 'R';
  });
}

// Whether threads have been READY within kQuiet, as far as the keepers and the stubs have seen.
bool needed_lately() {
  Nanoseconds now = os::now();
  Nanoseconds crowded = runtime_segment().header->crowded_ns.load(std::memory_order_relaxed);
  std::uint32_t passed = passes.load(std::memory_order_relaxed);
  if (passed != seen_passes || last_needed == 0) last_needed = now;
  seen_passes = passed;
  if (crowded > last_needed) last_needed = crowded < now ? crowded : now;
  if (now - last_needed < kQuiet) return true;
  if (threads_share()) last_needed = now;
  return last_needed == now;
}

// Puts `before` where the copy of the code has `now`.
void put_back(spin::CodeWindow& code, std::uint64_t at, const void* now, const std::uint8_t* before,
              std::size_t size) {
  const auto* changed = static_cast<const std::uint8_t*>(now);
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t offset = at + i - code.address;
    if (offset < code.size && code.bytes[offset] == changed[i]) code.bytes[offset] = before[i];
  }
}

}  // namespace

bool spin_sites_start() { return code_patch_start(); }

bool loops_are_left() {
  return runtime_active() &&
         runtime_segment().header->leave_loops.load(std::memory_order_relaxed) != 0;
}

bool rewrite_wait_loop(const spin::WaitProof& proof, const spin::CodeWindow& code) {
  return alone([&] {
    for (const spin::BackwardBranch& branch : proof.branches) {
      if (rewrite_branch(branch, proof, code)) return true;
    }
    return false;
  });
}

bool rewrite_pause(std::uint64_t pause, const spin::CodeWindow& code) {
  if (yields_in_its_loop(pause)) return false;
  spin::Instruction instruction;
  std::uint64_t offset = pause - code.address;
  if (offset >= code.size || !decode(code.bytes + offset, code.size - offset, instruction))
    return false;
  return alone([&] {
    return change_code(pause, code, [&](Site& site) {
      site.target = pause + instruction.length;
      site.is_pause = true;
      return rewrite(site);
    });
  });
}

bool shorten_counted_wait(const spin::CountedWait& wait, const spin::CodeWindow& code) {
  return alone([&] { return shorten(wait, code); });
}

bool is_shortened(std::uint64_t comparison) {
  const Site* site = find_site(comparison);
  if (!site || !site->active.load(std::memory_order_relaxed)) return false;
  passes.store(passes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

void undo_rewrites(spin::CodeWindow& code) {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    const Site& site = sites[i];
    if (!site.has_detour) continue;
    const spin::Detour& detour = site.detour;
    // Without hops nothing differs once it is restored; and the object may have been unloaded.
    if (detour.n_hops == 0 && !site.active.load(std::memory_order_relaxed)) continue;
    put_back(code, detour.change_address, detour.change, site.change_before, detour.change_size);
    for (unsigned k = 0; k < detour.n_hops; ++k) {
      const spin::Hop& hop = detour.hops[k];
      put_back(code, hop.address, hop.bytes, site.hops_before[k], hop.size);
    }
  }
}

unsigned rewritten_loops() {
  unsigned count = n_forgotten.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i)
    count += sites[i].has_detour;
  return count;
}

unsigned restored_loops() { return n_restored.load(std::memory_order_relaxed); }

void spin_sites_look() {
  if (active_loops() == 0) return;
  Alone section;
  if (!section) return;
  if (loops_are_left() || !needed_lately()) {
    restore_sites([](const Site&) { return true; });
  } else if (any_left()) {
    restore_sites(is_left);
  }
}

void spin_sites_forget_unloaded() {
  if (n_sites.load(std::memory_order_acquire) == 0) return;
  Alone section;
  if (!section) return;
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    Site& site = sites[i];
    std::uint8_t byte;
    if (site.branch == 0 || os::read_own_memory(site.branch, &byte, 1)) continue;
    if (site.has_detour) n_forgotten.fetch_add(1, std::memory_order_relaxed);
    site.has_detour = false;
    site.active.store(false, std::memory_order_relaxed);
    site.branch = site.copy_size = 0;
    if (site.page) free_code_page(site.page);
    site.page = nullptr;
  }
  runtime_show_loops(active_loops());
}

std::uint64_t programs_address(std::uint64_t address) {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    const Site& site = sites[i];
    if (site.has_detour && address - site.copy < site.copy_size) return site.target;
  }
  return address;
}

void spin_sites_after_fork() {
  busy.store(false, std::memory_order_relaxed);
  unload_after_fork();
}

}  // namespace roost

#else

namespace roost {
bool spin_sites_start() { return false; }
bool loops_are_left() { return true; }
bool rewrite_wait_loop(const spin::WaitProof&, const spin::CodeWindow&) { return false; }
bool rewrite_pause(std::uint64_t, const spin::CodeWindow&) { return false; }
bool shorten_counted_wait(const spin::CountedWait&, const spin::CodeWindow&) { return false; }
bool is_shortened(std::uint64_t) { return false; }
std::uint64_t programs_address(std::uint64_t address) { return address; }
void undo_rewrites(spin::CodeWindow&) {}
void spin_sites_look() {}
void spin_sites_forget_unloaded() {}
unsigned rewritten_loops() { return 0; }
unsigned restored_loops() { return 0; }
void spin_sites_after_fork() {}
}  // namespace roost

#endif

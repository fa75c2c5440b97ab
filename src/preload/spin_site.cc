// The table of rewritten loops, their stubs, and what a round through a stub does.
#include "preload/spin_site.h"

#include <string.h>

#include "preload/code_patch.h"
#include "preload/defer_cancellation.h"
#include "preload/function_bounds.h"
#include "preload/wait_loads.h"
#include "sched/runtime.h"
#include "spin/detour.h"

namespace roost {

void yield_after(const spin::WaitProof& proof) {
  WaitWords wait = wait_for(proof.loads, kMemoryPatience);
  yield_core(proof.all_loads && proof.loads.count() > 0 ? &wait : nullptr);
}

}  // namespace roost

#if defined(__x86_64__)
#include <cpuid.h>

namespace roost {

struct Site {
  std::uint64_t branch;
  std::uint64_t target;
  std::uint32_t steps;
  bool rewritten;  // else: it could not be
  spin::Detour detour;
  std::uint8_t displacement_before[4];
  std::uint8_t hops_before[spin::kMaxHops][sizeof(spin::Hop::bytes)];
  spin::CodeWindow code;  // as the program has it
};

extern "C" {
// What roost_spin_entry (preload/spin_entry.S) and the stub have pushed.
struct SpinFrame {
  std::uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx;
  std::uint64_t return_address;
  const Site* site;
  std::uint64_t rax, flags;
  std::uint8_t red_zone[128];
};
__attribute__((visibility("hidden"))) void roost_spin_entry();
__attribute__((visibility("hidden"))) void roost_spin_pass(const SpinFrame*);
}

namespace {

constexpr unsigned kMaxSites = 64;
// A round of more instructions than this is not looked at again before it yields.
constexpr unsigned kShortRound = 24;

Site sites[kMaxSites];
std::atomic<unsigned> n_sites{0};
std::atomic<bool> busy{false};

Site* find_site(std::uint64_t branch) {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    if (sites[i].branch == branch) return &sites[i];
  }
  return nullptr;
}

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

// Machine code, byte by byte.
class Assembler {
 public:
  explicit Assembler(std::uint8_t* at) : at_(at) {}
  template <class... Bytes>
  void code(Bytes... bytes) {
    ((*at_++ = static_cast<std::uint8_t>(bytes)), ...);
  }
  void load_rax(std::uint64_t value) {
    code(0x48, 0xb8);
    number(value, 8);
  }
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) code(value >> (8 * i));
  }
  void jump(std::uint64_t target) {
    code(0xe9);
    number(target - (position() + 4), 4);
  }
  std::uint64_t position() const { return reinterpret_cast<std::uint64_t>(at_); }

 private:
  std::uint8_t* at_;
};

template <class T>
std::uint64_t address(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

void assemble_stub(std::uint8_t* page, const Site& site) {
  Assembler stub(page);
  stub.code(0x48, 0x8d, 0x64, 0x24, 0x80);  // lea -128(%rsp), %rsp: past the red zone
  stub.code(0x9c);                          // pushfq
  stub.code(0x50);                          // push %rax
  stub.load_rax(address(&queued_hint));
  stub.code(0x48, 0x8b, 0x00);        // mov (%rax), %rax
  stub.code(0x48, 0x83, 0x38, 0x00);  // cmpq $0, (%rax)
  stub.code(0x75, 17);                // jne: somebody is READY
  std::uint64_t back = stub.position();
  stub.code(0x58);                                            // pop %rax
  stub.code(0x9d);                                            // popfq
  stub.code(0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00);  // lea 128(%rsp), %rsp
  stub.code(0xf3, 0x90);                                      // pause
  stub.jump(site.target);
  stub.load_rax(address(&site));
  stub.code(0x50);  // push %rax
  stub.load_rax(reinterpret_cast<std::uint64_t>(&roost_spin_entry));
  stub.code(0xff, 0xd0);                    // call *%rax
  stub.code(0x48, 0x8d, 0x64, 0x24, 0x08);  // lea 8(%rsp), %rsp
  stub.jump(back);
}

bool plan(Site& site, std::uint8_t* stub) {
  constexpr std::uint64_t kBefore = 32 * 1024, kBehind = 8 * 1024;
  FunctionBounds function;
  if (!find_function(site.branch, function) || site.branch - function.start > kBefore) return false;
  std::uint64_t end = function.end + kBehind;
  if (end > function.text_end || function.end > function.text_end) end = function.text_end;
  const auto* code = reinterpret_cast<const std::uint8_t*>(function.start);
  return plan_detour(code, end - function.start, function.start, site.branch, address(stub),
                     site.detour);
}

bool write_detour(Site& site) {
  const spin::Detour& detour = site.detour;
  memcpy(site.displacement_before, reinterpret_cast<void*>(detour.displacement_address),
         detour.displacement_size);
  for (unsigned i = 0; i < detour.n_hops; ++i) {
    const spin::Hop& hop = detour.hops[i];
    memcpy(site.hops_before[i], reinterpret_cast<void*>(hop.address), hop.size);
    if (!write_unused_code(hop.address, hop.bytes, hop.size)) return false;
  }
  // Whoever takes the branch from now on must find the hops, not what was there before.
  synchronise_code();
  if (!write_displacement(detour.displacement_address, detour.displacement,
                          detour.displacement_size)) {
    return false;
  }
  synchronise_code();
  return true;
}

bool rewrite(Site& site) {
  std::uint8_t* page = allocate_code_page(site.branch);
  if (!page) return false;
  assemble_stub(page, site);
  if (plan(site, page) && publish_code_page(page) && write_detour(site)) return true;
  free_code_page(page);
  return false;
}

// False once the object was unloaded and something else lies there.
bool in_place(const Site& site) {
  const spin::Detour& detour = site.detour;
  return memcmp(reinterpret_cast<void*>(detour.displacement_address), &detour.displacement,
                detour.displacement_size) == 0;
}

bool rewrite_branch(const spin::BackwardBranch& branch, const spin::WaitProof& proof,
                    const spin::CodeWindow& code) {
  unsigned n = n_sites.load(std::memory_order_relaxed);
  Site* site = find_site(branch.address);
  if (site && (!site->rewritten || in_place(*site))) return site->rewritten;
  if (!site && n == kMaxSites) return false;
  bool is_new = !site;
  if (is_new) site = &sites[n];
  site->branch = branch.address;
  site->target = branch.target;
  site->steps = proof.steps;
  site->code = code;
  site->rewritten = rewrite(*site);
  if (is_new) n_sites.store(n + 1, std::memory_order_release);
  return site->rewritten;
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

void roost_spin_pass(const SpinFrame* frame) {
  if (!can_park()) return;
  DeferCancellation guard;
  const Site& site = *frame->site;
  if (site.steps <= kShortRound) {
    spin::WaitProof proof =
        prove_wait(registers_of(*frame), site.code, read_directly, 4 * kShortRound);
    if (proof.waits) yield_after(proof);
  } else {
    yield_core();
  }
}

bool spin_sites_start() {
  unsigned a, b, c, d;
  constexpr unsigned kSystemUsesXsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kSystemUsesXsave)) return false;
  return code_patch_start();
}

bool rewrite_wait_loop(const spin::WaitProof& proof, const spin::CodeWindow& code) {
  if (busy.exchange(true, std::memory_order_acquire)) return false;
  bool done = false;
  for (unsigned i = 0; i < proof.n_branches && !done; ++i)
    done = rewrite_branch(proof.branches[i], proof, code);
  busy.store(false, std::memory_order_release);
  return done;
}

void undo_rewrites(spin::CodeWindow& code) {
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i) {
    const Site& site = sites[i];
    if (!site.rewritten) continue;
    const spin::Detour& detour = site.detour;
    put_back(code, detour.displacement_address, &detour.displacement, site.displacement_before,
             detour.displacement_size);
    for (unsigned k = 0; k < detour.n_hops; ++k) {
      const spin::Hop& hop = detour.hops[k];
      put_back(code, hop.address, hop.bytes, site.hops_before[k], hop.size);
    }
  }
}

unsigned rewritten_loops() {
  unsigned count = 0;
  for (unsigned i = 0; i < n_sites.load(std::memory_order_acquire); ++i)
    count += sites[i].rewritten;
  return count;
}

void spin_sites_after_fork() { busy.store(false, std::memory_order_relaxed); }

}  // namespace roost

#else

namespace roost {
bool spin_sites_start() { return false; }
bool rewrite_wait_loop(const spin::WaitProof&, const spin::CodeWindow&) { return false; }
void undo_rewrites(spin::CodeWindow&) {}
unsigned rewritten_loops() { return 0; }
void spin_sites_after_fork() {}
}  // namespace roost

#endif

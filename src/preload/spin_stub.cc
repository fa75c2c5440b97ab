// What a round passes through: nobody READY, it goes on as before; else roost_spin_entry is called.
#include "preload/spin_stub.h"

#if defined(__x86_64__)

#include "preload/assembler.h"
#include "preload/light.h"
#include "sched/runtime.h"
#include "spin/entry.h"

namespace roost {

constinit thread_local std::uint8_t rounds __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local std::uint8_t heads __attribute__((tls_model("initial-exec"))) = 0;

namespace {

template <class T>
std::uint64_t address(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

unsigned pause_bytes(const Site& site) {
  return site.is_pause ? static_cast<unsigned>(site.target - site.branch) : 2;
}

// The program's own, where it has one: a `tpause` is told how long.
void pause(Assembler& stub, const Site& site) {
  if (!site.is_pause) return stub.code(0xf3, 0x90);
  const auto* own = reinterpret_cast<const std::uint8_t*>(site.branch);
  for (unsigned i = 0; i < pause_bytes(site); ++i) stub.code(own[i]);
}

// To the loop's first instruction, or the same instruction and then to the second. False if that
// cannot be here.
bool lead_back(Assembler& stub, Site& site) {
  site.copy_size = 0;
  if (!jumps_at_target(site)) {
    stub.jump(site.target);
    return true;
  }
  spin::MovedEntry moved;
  if (!move_entry(reinterpret_cast<const std::uint8_t*>(site.target), site.detour.change_size,
                  site.target, stub.position(), moved))
    return false;
  constexpr unsigned kJump = 5;
  site.copy = stub.position();
  site.copy_size = moved.size - kJump;
  for (unsigned i = 0; i < moved.size; ++i) stub.code(moved.code[i]);
  return true;
}

}  // namespace

bool assemble_stub(std::uint8_t* page, Site& site) {
  const unsigned back_bytes =
      5u + (jumps_at_target(site) ? site.detour.change_size : pause_bytes(site));
  Assembler stub(page);
  stub.code(0x48, 0x8d, 0x64, 0x24, 0x80);  // lea -128(%rsp), %rsp: past the red zone
  stub.code(0x9c);                          // pushfq
  stub.code(0x50);                          // push %rax
  stub.load_rax(address(&queued_hint));
  stub.code(0x48, 0x8b, 0x00);        // mov (%rax), %rax
  stub.code(0x48, 0x83, 0x38, 0x00);  // cmpq $0, (%rax)
  stub.code(0x75, 31 + back_bytes);   // jne: somebody is READY
  stub.code(0x64, 0x80, 0x3c, 0x25);  // cmpb $0, %fs:own_light.flag
  stub.place_in_thread(&own_light.flag);
  stub.code(0x00);
  stub.code(0x75, 20 + back_bytes);   // jne: siblings on this thread
  stub.code(0x64, 0xfe, 0x0c, 0x25);  // decb %fs:rounds
  stub.place_in_thread(&rounds);
  stub.code(0x74, 10 + back_bytes);  // je: time to say that this thread spins
  std::uint64_t back = stub.position();
  stub.code(0x58);                                            // pop %rax
  stub.code(0x9d);                                            // popfq
  stub.code(0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00);  // lea 128(%rsp), %rsp
  // Those who do not wait pay for a head, too.
  if (!jumps_at_target(site)) pause(stub, site);
  if (!lead_back(stub, site)) return false;
  if (jumps_at_target(site)) {
    stub.code(0x64, 0xfe, 0x0c, 0x25);  // decb %fs:heads
    stub.place_in_thread(&heads);
    stub.code(0x75, back - (stub.position() + 2));  // jne: not yet
  }
  stub.load_rax(address(&site));
  stub.code(0x50);  // push %rax
  stub.load_rax(reinterpret_cast<std::uint64_t>(&roost_spin_entry));
  stub.code(0xff, 0xd0);                    // call *%rax
  stub.code(0x48, 0x8d, 0x64, 0x24, 0x08);  // lea 8(%rsp), %rsp
  stub.jump(back);
  return true;
}

}  // namespace roost

#endif

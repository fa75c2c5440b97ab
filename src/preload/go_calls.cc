// Finds Go's system call instruction, replaces it, and serves what comes from there.
#include "preload/go_calls.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include <atomic>

#include "os/sys.h"
#include "preload/assembler.h"
#include "preload/code_patch.h"
#include "preload/served_syscall.h"
#include "preload/stack_pool.h"
#include "preload/trap_state.h"
#include "sched/runtime.h"

#if defined(__x86_64__)

namespace roost {

extern "C" {
// Where the thread's calls are served. Read by roost_go_entry (preload/go_entry.S).
struct CallStack {
  char* top;  // null: there is none; while one is served, the program's stack pointer
  bool busy;
};
constinit thread_local CallStack roost_go_stack
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {};

__attribute__((visibility("hidden"))) void roost_go_entry();
__attribute__((visibility("hidden"), used)) const char* roost_go_call(SystemCall*, const char*);
}
static_assert(offsetof(CallStack, busy) == 8, "as go_entry.S has it");

namespace {

constexpr std::size_t kSyscallBytes = 2;

// A `syscall` and enough of what is around it to know it by.
struct Form {
  std::uint8_t bytes[24];
  std::uint8_t size;
  std::uint8_t at;     // of the `syscall`
  std::uint8_t moved;  // bytes of the instruction before it, which make room for a jump
};
constexpr Form kForms[] = {
    // Syscall6 since Go 1.20: mov %rsi,%r10; mov %rdi,%rdx; mov %rcx,%rsi; mov %rbx,%rdi; syscall;
    // cmp $-4095,%rax
    {{0x49, 0x89, 0xf2, 0x48, 0x89, 0xfa, 0x48, 0x89, 0xce, 0x48,
      0x89, 0xdf, 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff},
     20,
     12,
     3},
    // In Go 1.19: mov 40(%rsp),%r10; mov 48(%rsp),%r8; mov 56(%rsp),%r9; syscall; cmp $-4095,%rax
    {{0x4c, 0x8b, 0x54, 0x24, 0x28, 0x4c, 0x8b, 0x44, 0x24, 0x30, 0x4c, 0x8b,
      0x4c, 0x24, 0x38, 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff},
     23,
     15,
     5},
    // futex: mov 32(%rsp),%r8; mov 40(%rsp),%r9d; mov $202,%eax; syscall
    {{0x4c, 0x8b, 0x44, 0x24, 0x20, 0x44, 0x8b, 0x4c, 0x24, 0x28, 0xb8, 0xca, 0x00, 0x00, 0x00,
      0x0f, 0x05},
     17,
     15,
     5},
    // usleep: mov %rsp,%rdi; mov $0,%esi; mov $35,%eax; syscall
    {{0x48, 0x89, 0xe7, 0xbe, 0x00, 0x00, 0x00, 0x00, 0xb8, 0x23, 0x00, 0x00, 0x00, 0x0f, 0x05},
     15,
     13,
     5},
    // osyield, between padding: mov $24,%eax; syscall; ret
    {{0xcc, 0xb8, 0x18, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc3, 0xcc}, 10, 6, 5},
};
constexpr std::size_t kStubBytes = 64;
static_assert(sizeof kForms / sizeof *kForms * kStubBytes <= kCodePageBytes);
// A linker puts the packages that others use first.
constexpr std::size_t kSearched = 2 << 20;

std::atomic<bool> replaced{false};

void assemble_stub(std::uint8_t* at, const Form& form, const std::uint8_t* found) {
  Assembler stub(at);
  for (unsigned i = form.at - form.moved; i < form.at; ++i) stub.code(found[i]);
  stub.code(0x64, 0x80, 0x3c, 0x25);  // cmpb $1, %fs:roost_trap_selector.now
  stub.place_in_thread(const_cast<const char*>(&os::roost_trap_selector.now));
  stub.code(0x01);
  stub.code(0x75, 20);                                  // jne: it would not be trapped
  stub.code(0x48, 0x8d, 0x0d, 0x0d, 0x00, 0x00, 0x00);  // lea 13(%rip), %rcx: the `syscall`
  stub.load_r11(reinterpret_cast<std::uint64_t>(&roost_go_entry));
  stub.code(0x41, 0xff, 0xe3);  // jmp *%r11
  stub.code(0x0f, 0x05);        // syscall
  stub.jump(reinterpret_cast<std::uint64_t>(found) + form.at + kSyscallBytes);
}

bool lead_to(const std::uint8_t* stub, const Form& form, const std::uint8_t* found,
             CodeWriter& writer) {
  std::uint8_t jump[5] = {0xe9};
  const std::uint8_t* from = found + form.at - form.moved;
  auto distance = static_cast<std::int32_t>(stub - (from + sizeof jump));
  memcpy(jump + 1, &distance, sizeof distance);
  return writer.write(reinterpret_cast<std::uint64_t>(from), jump, sizeof jump);
}

// By which the kernel changes or leaves the stack that it is called on.
bool concerns_stack(long number) {
  switch (number) {
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_rt_sigreturn:
    case SYS_arch_prctl:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Where the stub goes on: behind its `syscall`, with the result in the place of the number, or at
// it, where the call is trapped.
const char* roost_go_call(SystemCall* call, const char* instruction) {
  if (trap_state.load(std::memory_order_acquire) != TrapState::wanted || !self.record ||
      concerns_stack(call->number))
    return instruction;
  int saved = errno;
  long result;
  if (!serve_syscall(*call, result)) result = made_in_kernel(*call);
  call->number = result;
  errno = saved;
  return instruction + kSyscallBytes;
}

void go_calls_start() {
  TextRange text;
  if (!find_text(nullptr, text) || os::listed_threads() != 1) return;
  std::uint8_t* stubs = allocate_code_page(text.start);
  if (!stubs) return;
  std::size_t size = text.length < kSearched ? text.length : kSearched;
  constexpr unsigned kCount = sizeof kForms / sizeof *kForms;
  const std::uint8_t* found[kCount];
  for (unsigned i = 0; i < kCount; ++i) {
    const Form& form = kForms[i];
    found[i] = static_cast<const std::uint8_t*>(
        memmem(reinterpret_cast<const void*>(text.start), size, form.bytes, form.size));
    if (found[i]) assemble_stub(stubs + i * kStubBytes, form, found[i]);
  }
  if (!publish_code_page(stubs)) return free_code_page(stubs);
  CodeWriter writer;
  for (unsigned i = 0; i < kCount; ++i) {
    if (found[i] && lead_to(stubs + i * kStubBytes, kForms[i], found[i], writer))
      replaced.store(true, std::memory_order_relaxed);
  }
}

void go_calls_take_stack() {
  if (!replaced.load(std::memory_order_relaxed) || roost_go_stack.top) return;
  if (char* stack = take_pooled_stack()) roost_go_stack.top = stack + kPooledStackBytes;
}

void go_calls_give_stack() {
  // A thread may end on it.
  if (!roost_go_stack.top || roost_go_stack.busy) return;
  give_pooled_stack(roost_go_stack.top - kPooledStackBytes);
  roost_go_stack.top = nullptr;
}

}  // namespace roost

#else

namespace roost {
void go_calls_start() {}
void go_calls_take_stack() {}
void go_calls_give_stack() {}
}  // namespace roost

#endif

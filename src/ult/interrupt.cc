// The question by a signal, and its handler.
#include "ult/interrupt.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include <cerrno>

#include "base/own_code.h"
#include "spin/faults_pass.h"
#include "spin/interrupted.h"
#include "spin/long_wait.h"
#include "spin/other_stack.h"
#include "spin/proof_budget.h"
#include "spin/saved_call.h"
#include "ult/host.h"
#include "ult/kernel.h"
#include "ult/overflow.h"
#include "ult/sanitizer.h"

#if defined(__x86_64__)
extern "C" {
__attribute__((visibility("hidden"))) void roost_ult_interrupted();
__attribute__((visibility("hidden"))) void roost_ult_yield();
}
#endif

namespace roost::ult {
namespace {

constexpr int kSignal = SIGURG;

#if defined(__x86_64__)

constexpr unsigned kMaxSteps = 1024;  // of a short proof

// System calls in which a thread may wait for another of its process. Not those that end by
// themselves (sleeps), and not writes: the strand may hold a lock of stdio's, which a sibling,
// being the same thread, would not notice.
constexpr int kRestarted[] = {SYS_futex,  SYS_read,    SYS_recvfrom, SYS_recvmsg,
                              SYS_accept, SYS_accept4, SYS_connect,  SYS_wait4,
                              SYS_waitid, SYS_flock,   SYS_fcntl,    SYS_openat};
constexpr int kEndedBySignals[] = {
    SYS_poll,  SYS_ppoll,      SYS_select, SYS_pselect6, SYS_epoll_wait,     SYS_epoll_pwait,
    SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_msgsnd,   SYS_rt_sigtimedwait};

template <std::size_t n>
bool is_among(const int (&calls)[n], long number) {
  for (int call : calls)
    if (call == number) return true;
  return false;
}

bool read_carefully(std::uint64_t address, unsigned width, std::uint64_t& value) {
  value = 0;
  return kernel::read_own_memory(address, &value, width);
}

bool is_system_call(std::uint64_t address) {
  std::uint8_t code[2];
  return kernel::read_own_memory(address, code, sizeof code) && code[0] == 0x0f && code[1] == 0x05;
}

// Whether the signal has interrupted a system call: the kernel then repeats it, or has it say
// EINTR.
bool in_system_call(const spin::Registers& registers) {
  std::uint64_t at = registers.instruction_pointer;
  auto result = static_cast<long>(registers.general[0]);
  if (result == -EINTR) return is_system_call(at - 2);
  return is_among(kRestarted, result) && is_system_call(at);
}

bool read_program(std::uint64_t address, spin::CodeWindow& code) {
  return spin::read_code(address, code, kernel::read_own_memory);
}

long call_kernel(long number, long a, long b, long c, long d) {
  return syscall(number, a, b, c, d);
}

// Leads one whose rounds are long to where siblings may go on in its place.
bool spins_in_long_rounds(spin::Registers& registers) {
  static constinit thread_local std::uint32_t choice __attribute__((tls_model("initial-exec"))) = 0;
  static constinit thread_local spin::ProofBudget budget __attribute__((tls_model("initial-exec")));
  spin::ProofLimit limit{};
  if (!budget.begin([] { return kernel::cpu_time(0); }, limit)) return false;
  spin::LongWait wait =
      prove_long_wait(registers, {read_program, kernel::read_own_memory}, limit, ++choice);
  budget.end(limit, wait.waits);
  if (!wait.waits || is_own_code(wait.rest_address)) return false;
  spin::FaultsPass pass(call_kernel);
  return go_to_rest(registers, read_program, wait);
}

// A loop of this library's is its own affair, but not one of the program's that calls it again and
// again (omp_get_wtime).
bool spins(const ucontext_t& interrupted, spin::Registers& registers) {
  spin::CodeWindow code;
  bool is_ours = is_own_code(registers.instruction_pointer);
  return (!is_ours && read_program(registers.instruction_pointer, code) &&
          spin::prove_wait(registers, code, read_carefully, kMaxSteps).waits) ||
         (spin::is_apart(interrupted) && spins_in_long_rounds(registers));
}

// Whether siblings may go on where the strand is.
bool may_switch(const Carrier& own) { return !own.in_runtime && own.current->inside; }

// The handler may be on an alternate stack of the program's that is too small for a proof, or on
// none.
bool waits(Carrier& own, const ucontext_t& interrupted, spin::Registers& registers) {
  if (in_system_call(registers)) return may_switch(own);
  if (on_alternate_stack(own)) return spins(interrupted, registers);
  bool found = false;
  if (own.alternate.low)
    spin::on_stack(own.alternate.top(), [&] { found = spins(interrupted, registers); });
  return found;
}

// ThreadSanitizer calls handlers later, with a copy of what the kernel has said: the thread has
// gone on meanwhile.
bool is_still_there(const ucontext_t& interrupted) {
  constexpr std::uintptr_t kFrames = 64 * 1024;
  auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return spin::is_apart(interrupted) ||
         reinterpret_cast<std::uintptr_t>(&interrupted) - here < kFrames;
}

// Asks whether it waits. Then it is on a stack, and goes on by the detour.
[[gnu::noinline]] void ask_interrupted(Carrier& own, ucontext_t& interrupted) {
  spin::FaultsPass::clean_up(call_kernel);
  if (!is_still_there(interrupted)) return;
  spin::Registers registers = spin::registers_of(interrupted);
  bool is_ours = is_own_code(registers.instruction_pointer);
  if (!is_ours && !may_switch(own)) return;
  bool found = waits(own, interrupted, registers);
  spin::set_registers(interrupted, registers);
  if (!found || !may_switch(own)) return;
  // The next time each member gets a thread of its own.
  own.current->inside->blocks.store(true, std::memory_order_relaxed);
  if (!spin::can_save_registers()) return;
  introduce_below(static_cast<std::uintptr_t>(interrupted.uc_mcontext.gregs[REG_RSP]),
                  spin::kRedZone);
  spin::go_on_by(&roost_ult_interrupted, interrupted);
}

// With all signals blocked, and on an alternate stack, where there is one: the strand's stack
// pointer may lie in data with which it computes (preload/signal_stack.h). Who is interrupted in a
// handler on that stack is left alone: the next signal, in a sibling, would begin there, too. And
// hardly any of it may be left: no frame of this one is large.
void on_interrupt(int, siginfo_t*, void* context) {
  Carrier* own = here.carrier;
  if (!own) return;
  own->interrupted = true;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (!spin::on_alternate_stack(interrupted)) ask_interrupted(*own, interrupted);
}

bool is_ours() {
  struct sigaction now;
  return sigaction(kSignal, nullptr, &now) == 0 && now.sa_flags & SA_SIGINFO &&
         now.sa_sigaction == on_interrupt;
}

bool ask(const Carrier& carrier) {
  kernel::KeepErrno keep;
  return !host::with_roost() && is_ours() &&
         syscall(SYS_tgkill, getpid(), tid_of(carrier), kSignal) == 0;
}

#endif

}  // namespace

#if defined(__x86_64__)

void interrupts_start() {
  struct sigaction before;
  if (host::with_roost() || sigaction(kSignal, nullptr, &before) != 0) return;
  if (before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL) return;
  struct sigaction ours = {};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // All, those of pthread_cancel and setuid among them (see preload/nudge.cc), but not SIGSYS,
  // which a filter of the program's may have for its system calls.
  std::uint64_t mask = ~(1ull << (SIGSYS - 1));
  memcpy(&ours.sa_mask, &mask, sizeof mask);
  sigaction(kSignal, &ours, nullptr);
}

extern "C" void roost_ult_yield() {
  kernel::KeepErrno keep;
  light_event(ROOST_LIGHT_YIELDS);
}

bool interrupt_running(const Carrier& carrier) {
  return kernel::call_asleep_in(tid_of(carrier)) < 0 && ask(carrier);
}

bool interrupt_sleeping(const Carrier& carrier, bool long_asleep) {
  long call = kernel::call_asleep_in(tid_of(carrier));
  bool may_wait = is_among(kRestarted, call) || (long_asleep && is_among(kEndedBySignals, call));
  return may_wait && ask(carrier);
}

#else

void interrupts_start() {}
bool interrupt_running(const Carrier&) { return false; }
bool interrupt_sleeping(const Carrier&, bool) { return false; }

#endif

}  // namespace roost::ult

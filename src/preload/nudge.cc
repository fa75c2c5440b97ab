// Looks at the interrupted instruction: a thread that provably waits gives its core away.
//
// The signal is SIGURG. Its default is to be ignored, so one that comes too late, in an image that
// has just been executed or in a thread that took over a dead one's number, harms nobody; debuggers
// pass it on in silence; and hardly a program uses it (Go does, for the same purpose and reasons).
// A program that sets a handler for it gets it for itself, and is not asked any more.
#include "preload/nudge.h"

#include <signal.h>
#include <string.h>

#include "base/own_code.h"
#include "os/sys.h"
#include "preload/defer_cancellation.h"
#include "preload/light.h"
#include "preload/own_stack.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/signal_stack.h"
#include "preload/spin_site.h"
#include "preload/stack_pool.h"
#include "preload/stopped_threads.h"
#include "preload/wait_loads.h"
#include "sched/runtime.h"
#include "sched/runtime_os.h"
#include "spin/faults_pass.h"
#include "spin/interrupted.h"
#include "spin/long_wait.h"
#include "spin/pauses.h"
#include "spin/proof_budget.h"

namespace roost {
namespace {

constexpr int kSignal = SIGURG;
constexpr unsigned kMaxSteps = 1024;

SpinMode mode = SpinMode::off;
std::atomic<bool> taken{false};  // the handler is ours

ROOST_LISTED constinit Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction{
    "sigaction"};

#if defined(__x86_64__)
// The program's own code around an address.
bool read_program(std::uint64_t address, spin::CodeWindow& code) {
  if (!read_code(address, code, os::read_own_memory)) return false;
  undo_rewrites(code);
  return true;
}

long call_kernel(long number, long a, long b, long c, long d) {
  return os::raw_syscall(number, a, b, c, d);
}

// How an interrupted thread waits.
struct Waiting {
  spin::WaitProof proof;
  // For so long it may stay where it is, while the memory at which it looks does not change.
  Nanoseconds patience;
  std::uint64_t pause;  // by which it spins, where no proof follows it; else 0
};

// Others may wait for what it writes; and who looks for a time only does something else then.
Nanoseconds patience_of(const spin::LongSpin& spin) {
  constexpr Nanoseconds kBounded = 4'000'000;
  if (spin.writes == spin::Writes::others) return 0;
  return spin.is_bounded || spin.writes != spin::Writes::nothing ? kBounded : kMemoryPatience;
}

// Of a light thread: leads it to where its siblings may go on in its place.
bool lead_to_rest(ucontext_t& context, spin::Registers& registers, const spin::LongWait& wait) {
  if (in_light_runtime(wait.rest_address)) return false;
  spin::FaultsPass pass(call_kernel);
  bool rests = go_to_rest(registers, read_program, wait);
  spin::set_registers(context, registers);
  return rests;
}

// Of a thread whose rounds are long.
bool find_long_wait(ucontext_t& context, spin::Registers& registers, Waiting& waiting) {
  static constinit thread_local std::uint32_t questions __attribute__((tls_model("initial-exec"))) =
      0;
  static constinit thread_local spin::ProofBudget budget __attribute__((tls_model("initial-exec")));
  const spin::Reader reader{read_program, os::read_own_memory};
  if (is_light() && !spin::is_apart(context)) return false;
  spin::ProofLimit limit{};
  if (!budget.begin(os::thread_cpu_time, limit)) return false;
  if (is_light()) {
    spin::LongWait wait = prove_long_wait(registers, reader, limit, ++questions);
    budget.end(limit, wait.waits);
    return wait.waits && lead_to_rest(context, registers, wait);
  }
  spin::LongSpin spin = prove_long_spin(registers, reader, limit);
  if (!spin.waits && spin.pauses) waiting.pause = find_pause(registers, reader, kMaxSteps);
  budget.end(limit, spin.waits);
  if (!spin.waits || in_light_runtime(spin.loop)) return false;
  waiting.proof.all_loads = spin.all_loads;
  waiting.proof.loads = spin.loads;
  waiting.patience = patience_of(spin);
  return true;
}

// Where nothing else is known of its spin it yields once, and from now on at that instruction.
bool yields_by_pause(Waiting& waiting) {
  if (!waiting.pause || is_own_code(waiting.pause) || in_light_runtime(waiting.pause)) return false;
  spin::CodeWindow code;
  if (mode == SpinMode::rewrite && read_program(waiting.pause, code))
    rewrite_pause(waiting.pause, code);
  waiting.patience = 0;
  return true;
}

// Whether the interrupted thread waits; its loop may be rewritten then. `again` if it has waited
// since: where that is over, it is on its way to its next spin at most.
bool find_wait(ucontext_t& context, Waiting& waiting, bool again) {
  spin::Registers registers = spin::registers_of(context);
  spin::CodeWindow code;
  waiting = {{}, kMemoryPatience, 0};
  if (!read_program(registers.instruction_pointer, code)) return false;
  // A loop of its runtime's is that one's affair, but not one of the program's that calls it.
  if (!in_light_runtime(registers.instruction_pointer))
    waiting.proof = prove_wait(registers, code, read_carefully, kMaxSteps);
  bool is_short = waiting.proof.waits;
  if (!is_short && !find_long_wait(context, registers, waiting) &&
      (again || !yields_by_pause(waiting)))
    return false;
  runtime_segment().header->waits_found.fetch_add(1, std::memory_order_relaxed);
  if (is_short && mode == SpinMode::rewrite) rewrite_wait_loop(waiting.proof, code);
  return true;
}

// Called with all signals blocked, so that the proof can have a stack of Roost's, and is not cut by
// an asynchronous cancellation. A light thread waits on its own stack, so that its siblings can
// run, and so does one that collectors stop, who look for pointers there. Another looks, once it
// has a core again, whether it still waits, before it spins until it is asked the next time.
void on_nudge(int, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  nudge_arrived();
  give_back_left_stack();
  spin::FaultsPass::clean_up(call_kernel);
  // A thread that was made to share its core before the signal reached it queues for one: it would
  // else spin beside the others for good.
  if (!can_park()) return;
  Waiting waiting;
  bool waits = false, again = false;
  auto look = [&] { waits = find_wait(context, waiting, again); };
  if (!on_own_stack(look) || !waits) return;
  if (is_light() || stops_threads.load(std::memory_order_relaxed))
    return return_into_yield(context);
  tell_of_spinner();
  DeferCancellation guard;
  Nanoseconds begin = os::now();
  // Waits for the next grant with its signals as the program set them, since a handler may end what
  // the thread waits for: on its alternate stack, whose size allows for that.
  for (;;) {
    set_signal_mask_of(context);
    yield_after(waiting.proof);
    if (os::now() - begin >= waiting.patience || !runtime_ledger().any_queued()) return;
    block_all_signals();
    again = true;
    if (!can_park() || !on_own_stack(look) || !waits) return set_signal_mask_of(context);
  }
}
#else
void on_nudge(int, siginfo_t*, void*) {}
#endif

// The program wants the signal for itself.
void hand_over() {
  if (!taken.exchange(false, std::memory_order_acq_rel)) return;
  runtime_accept_nudges(0);
  struct sigaction standard {};
  real_sigaction(kSignal, &standard, nullptr);
}

bool is_default(const struct sigaction& action) {
  return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

}  // namespace

int nudge_signal() { return taken.load(std::memory_order_acquire) ? kSignal : 0; }

bool rewrites_wait_loops() { return mode == SpinMode::rewrite && nudge_signal() != 0; }

void nudges_prepare(SpinMode wanted) {
  mode = wanted;
  if (mode == SpinMode::rewrite && !spin_sites_start()) mode = SpinMode::preempt;
}

void nudges_start() {
#if defined(__x86_64__)
  if (mode == SpinMode::off) return;
  struct sigaction before;
  if (real_sigaction(kSignal, nullptr, &before) != 0 || !is_default(before)) return;
  struct sigaction action {};
  action.sa_sigaction = on_nudge;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // All, those of pthread_cancel and setuid among them: who is on a stack of Roost's for the proof
  // has the alternate one in use, and the kernel does not see that.
  memcpy(&action.sa_mask, &kAllButSigsys, sizeof kAllButSigsys);
  if (real_sigaction(kSignal, &action, nullptr) != 0) return;
  taken.store(true, std::memory_order_release);
  signal_stack_start();
  runtime_accept_nudges(kSignal);
#endif
}

void nudges_after_fork() {
  pooled_stacks_after_fork();
  signal_stacks_after_fork();
  own_stacks_after_fork();
  spin_sites_after_fork();
}

void nudges_give_up(int signal) {
  if (signal == kSignal && in_managed_process()) hand_over();
}

bool nudges_answer(int signal, const struct sigaction* wanted, struct sigaction* before) {
  if (signal != kSignal || !taken.load(std::memory_order_acquire) || !in_managed_process())
    return false;
  if (wanted && !is_default(*wanted)) {
    hand_over();
    return false;
  }
  if (before) memset(before, 0, sizeof *before);
  return true;
}

}  // namespace roost

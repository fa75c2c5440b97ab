// Looks at the interrupted instruction: a thread that provably waits gives its core away.
//
// The signal is SIGURG. Its default is to be ignored, so one that comes too late, in an image that
// has just been executed or in a thread that took over a dead one's number, harms nobody; debuggers
// pass it on in silence; and hardly a program uses it (Go does, for the same purpose and reasons).
// A program that sets a handler for it gets it for itself, and is not asked any more.
#include "preload/nudge.h"

#include <signal.h>
#include <string.h>

#include "os/sys.h"
#include "preload/defer_cancellation.h"
#include "preload/light.h"
#include "preload/own_stack.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/signal_stack.h"
#include "preload/spin_site.h"
#include "preload/stack_pool.h"
#include "preload/wait_loads.h"
#include "sched/runtime.h"
#include "spin/faults_pass.h"
#include "spin/interrupted.h"
#include "spin/long_wait.h"
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

// The same of a thread whose rounds are long. A light one is led to where its siblings may go on in
// its place.
bool find_long_wait(ucontext_t& context, spin::Registers& registers, spin::WaitProof& proof) {
  static constinit thread_local std::uint32_t questions __attribute__((tls_model("initial-exec"))) =
      0;
  static constinit thread_local spin::ProofBudget budget __attribute__((tls_model("initial-exec")));
  bool light = is_light();
  if (light && !spin::is_apart(context)) return false;
  spin::LongWait wait =
      prove_long_wait(registers, {read_program, os::read_own_memory}, budget.steps(), ++questions);
  budget.used(wait.waits);
  // Who looks at the clock will do something else some day, and who looks at nothing of others
  // waits for nobody.
  if (!wait.waits || (!light && (wait.looks_at_clock || wait.loads.count() == 0)) ||
      in_light_runtime(wait.rest_address))
    return false;
  proof.all_loads = wait.all_loads;
  proof.loads = wait.loads;
  if (!light) return true;
  spin::FaultsPass pass(call_kernel);
  bool rests = go_to_rest(registers, read_program, wait);
  spin::set_registers(context, registers);
  return rests;
}

// Whether the interrupted thread waits; its loop may be rewritten then.
bool find_wait(ucontext_t& context, spin::WaitProof& proof) {
  spin::Registers registers = spin::registers_of(context);
  spin::CodeWindow code;
  if (!read_program(registers.instruction_pointer, code)) return false;
  // A loop of its runtime's is that one's affair, but not one of the program's that calls it.
  if (!in_light_runtime(registers.instruction_pointer))
    proof = prove_wait(registers, code, read_carefully, kMaxSteps);
  if (!proof.waits && !find_long_wait(context, registers, proof)) return false;
  runtime_segment().header->waits_found.fetch_add(1, std::memory_order_relaxed);
  if (proof.waits && mode == SpinMode::rewrite) rewrite_wait_loop(proof, code);
  return true;
}

// Called with all signals blocked, so that the proof can have a stack of Roost's, and is not cut by
// an asynchronous cancellation. A thread waits for its next grant with its signals as the program
// set them, since a handler may end what it waits for: on the thread's alternate stack, whose size
// allows for that. A light thread waits on its own stack, so that its siblings can run.
void on_nudge(int, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  nudge_arrived();
  // A thread that was made to share its core before the signal reached it queues for one: it would
  // else spin beside the others for good.
  if (!can_park()) return;
  spin::WaitProof proof{};
  bool waits = false;
  if (!on_own_stack([&] { waits = find_wait(context, proof); }) || !waits) return;
  if (is_light()) return return_into_yield(context);
  set_signal_mask_of(context);
  tell_of_spinner();
  DeferCancellation guard;
  yield_after(proof);
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
  std::uint64_t mask = ~os::kTraps;
  memcpy(&action.sa_mask, &mask, sizeof mask);
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

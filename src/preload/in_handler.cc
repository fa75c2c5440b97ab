// A handler returns to a few instructions (of ours, of libc's, or of whoever installed it) whose
// address the kernel puts below the handler's frame: it is looked for on the stack.
#include "preload/in_handler.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os/sys.h"
#include "preload/handler_return.h"

namespace roost {
namespace {

// Where the handlers of the process return to.
class Restorers {
 public:
  // As the kernel has them now.
  void look() {
    count_ = 0;
    constexpr std::uintptr_t kDefault = 0, kIgnore = 1;
    for (int signal = 1; signal <= os::kSignals; ++signal) {
      os::KernelAction action{};
      if (os::kernel_action(signal, nullptr, &action) != 0) continue;
      if (action.handler != kDefault && action.handler != kIgnore) add(action.restorer);
    }
  }
  bool none() const { return count_ == 0; }
  bool too_many() const { return count_ > kMost; }
  // Ours may just replace libc's, which stays that of some handlers.
  void look_at_ours() { ours_ = handler_returns(); }
  bool have(std::uint64_t address) const {
    return address == ours_.ours || (address == ours_.libcs && address) || is_known(address);
  }

 private:
  static constexpr unsigned kMost = 4;

  bool is_known(std::uint64_t address) const {
    for (unsigned i = 0; i < count_; ++i)
      if (addresses_[i] == address) return true;
    return false;
  }
  void add(std::uint64_t address) {
    if (is_known(address)) return;
    if (count_ < kMost) addresses_[count_] = address;
    if (count_ <= kMost) ++count_;
  }

  std::uint64_t addresses_[kMost + 1] = {};
  unsigned count_ = 0;
  HandlerReturns ours_ = {};
};

// What the kernel puts behind the address of a restorer: a ucontext, and the head of a siginfo,
// which it writes for handlers with SA_SIGINFO alone.
#if defined(__x86_64__)
struct Context {
  std::uint64_t flags, link, stack[3], r8_to_r15[8], others[7], stack_pointer, instruction_pointer,
      processor_flags, segments, fault[4], vectors, reserved[8], mask;
  std::int32_t signal;
};
#else
struct Context {};
#endif

// Whether that is there, not a copy of the address alone, as sigaction(2) returns one.
bool is_frame(std::uint64_t at, Context& context) {
#if defined(__x86_64__)
  constexpr std::uint64_t kUserCode = 0x33;  // the segment of 64-bit code
  return os::read_own_memory(at + sizeof at, &context, sizeof context) && context.link == 0 &&
         (context.segments & 0xffff) == kUserCode;
#else
  static_cast<void>(at);
  return true;
#endif
}

// From the caller's frame on, for so many bytes: true as soon as visit(at, context) is, of what may
// be a handler's frame; `otherwise` where the stack goes on behind them.
template <class Visit>
__attribute__((no_sanitize("address"))) bool any_frame(const Restorers& restorers, std::size_t most,
                                                       bool otherwise, Visit&& visit) {
  auto first = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  std::uint64_t end = os::end_of_readable(first, first + most);
  for (std::uint64_t at = first; at + sizeof at <= end; at += sizeof at) {
    if (!restorers.have(*reinterpret_cast<const std::uint64_t*>(at))) continue;
    Context context{};
    if (is_frame(at, context) && visit(at, context)) return true;
  }
  return end == first + most && otherwise;
}

}  // namespace

// Signals, a bit each: those with handlers, those that these leave open to the next one, and those
// whose handlers are not told which it is.
static std::atomic<std::uint64_t> handled{0}, left_open{0}, untold{0};

// Of a fault in the runtime itself nothing goes on.
static bool tells_of_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGTRAP || signal == SIGABRT || signal == SIGSYS;
}

void note_handler(int signal, int flags) {
  if (signal < 1 || signal > os::kSignals) return;
  if (flags & SA_NODEFER && !tells_of_fault(signal))
    left_open.fetch_or(signal_bit(signal), std::memory_order_relaxed);
  if (!(flags & SA_SIGINFO)) untold.fetch_or(signal_bit(signal), std::memory_order_relaxed);
  handled.fetch_or(signal_bit(signal), std::memory_order_release);
}

std::uint64_t handled_signals() { return handled.load(std::memory_order_relaxed); }

// Those that may be in a handler of theirs.
static std::uint64_t perhaps_handled_now() {
  std::uint64_t mask = 0;
  os::change_signal_mask(SIG_BLOCK, 0, &mask);
  return (mask & handled_signals()) | left_open.load(std::memory_order_relaxed);
}

// Whether the frame may be that of a handler of one of these, which was not blocked before it.
[[maybe_unused]] static bool is_of(const Context& context, std::uint64_t signals) {
  std::uint64_t possible = signals & ~context.mask;
  if (possible & untold.load(std::memory_order_relaxed)) return true;
  return context.signal >= 1 && context.signal <= os::kSignals &&
         possible & signal_bit(context.signal);
}

bool perhaps_in_handler() {
  constexpr std::size_t kMostStack = std::size_t{1} << 20;
  Restorers restorers;
  restorers.look();
  restorers.look_at_ours();
  if (restorers.none()) return false;
  if (restorers.too_many()) return true;
  return any_frame(restorers, kMostStack, true, [](std::uint64_t, const Context&) { return true; });
}

bool in_handler_over(bool (*is_it)(std::uint64_t address)) {
#if defined(__x86_64__)
  constexpr std::size_t kMostStack = 32 * 1024, kLargestFrame = 16 * 1024;
  if (__builtin_expect(handled_signals() == 0, 1)) return false;
  std::uint64_t signals = perhaps_handled_now();
  if (!signals) return false;
  // What the kernel knows takes a system call a signal. One that is being set may not be there yet.
  static constinit thread_local Restorers restorers __attribute__((tls_model("initial-exec")));
  static constinit thread_local std::uint64_t known __attribute__((tls_model("initial-exec"))) = 0;
  if (std::uint64_t now = handled.load(std::memory_order_acquire); now != known) {
    restorers.look();
    known = restorers.none() ? 0 : now;
  }
  restorers.look_at_ours();
  return any_frame(restorers, kMostStack, false, [&](std::uint64_t at, const Context& context) {
    if (!is_of(context, signals)) return false;
    bool same_stack = context.stack_pointer - at < kLargestFrame;
    // One whose own return was interrupted has taken its address off the stack by then.
    if (!same_stack || is_it(context.instruction_pointer) ||
        in_handler_return(context.instruction_pointer))
      return true;
    // Functions of libc's and the kernel's (the time) that were called from there have small
    // frames.
    std::uint64_t top[24] = {};
    return os::read_own_memory(context.stack_pointer, top, sizeof top) &&
           std::ranges::any_of(top, is_it);
  });
#else
  static_cast<void>(is_it);
  return false;
#endif
}

}  // namespace roost

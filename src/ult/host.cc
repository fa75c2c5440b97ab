// Carriers' threads on Roost, or on the kernel alone.
#include "ult/host.h"

#include <pthread.h>
#include <sched.h>

#include "base/own_code.h"
#include "base/thread_stack.h"
#include "base/types.h"
#include "ult/carrier.h"
#include "ult/kernel.h"

namespace roost::ult::host {
namespace {

constinit std::atomic<unsigned> known_cores{0};

unsigned count_usable() {
  // The system call rather than sched_getaffinity(): as large as the kernel's masks get.
  unsigned long mask[8192 / (8 * sizeof(unsigned long))] = {};
  kernel::KeepErrno keep;
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  unsigned count = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof *mask); ++i)
    count += static_cast<unsigned>(__builtin_popcountl(mask[i]));
  return count ? count : 1;
}

// Under Roost the mask is what the program was bound to, as a hint.
unsigned count_cores() {
  unsigned usable = count_usable();
  if (!with_roost()) return usable;
  unsigned cores = roost_core_count();
  return usable < cores ? usable : cores;
}

}  // namespace

// Weak symbols: null in programs without libroost.so.
bool with_roost() { return roost_active && roost_active(); }

unsigned cores() {
  unsigned count = known_cores.load(std::memory_order_relaxed);
  if (count) return count;
  count = count_cores();
  known_cores.store(count, std::memory_order_relaxed);
  return count;
}

void forget_cores() { known_cores.store(0, std::memory_order_relaxed); }

bool others_wait() { return roost_others_wait && roost_others_wait(); }

unsigned idle_cores() {
  struct roost_state state;
  return with_roost() && roost_state(&state) == 0 ? state.idle_cores : 0;
}
bool others_have_cores() {
  struct roost_state state;
  return with_roost() && (roost_state(&state) != 0 || state.others_cores > 0);
}
unsigned cores_left_to_it() {
  struct roost_state state;
  if (!with_roost() || roost_state(&state) != 0) return cores();
  // Where all cores are the program's, it is its own threads that wait.
  if (state.ready_threads && state.others_cores) return 1;
  unsigned left = state.cores > state.others_cores ? state.cores - state.others_cores : 1;
  return left < cores() ? left : cores();
}
bool core_to_spare(unsigned active) { return with_roost() ? idle_cores() > 0 : active < cores(); }

void sleep(Sleeper& sleeper) {
  while (sleeper.word.is_set()) {
    if (sleeper.thread.load(std::memory_order_relaxed)) {
      if (roost_block() == 0) continue;
      // [sleep-2] before the kernel looks at the word: who changed it later sees this.
      sleeper.thread.store(0, std::memory_order_seq_cst);
    }
    std::uint32_t asleep = sleeper.word.asleep.load(std::memory_order_relaxed);
    if (asleep != kAwake) kernel::futex_wait(&sleeper.word.asleep, asleep);
  }
}

void wake(Sleeper& sleeper) {
  Sleep ended = sleeper.word.end();
  if (ended == kAwake) return;
  // Not by the carrier itself: it may have to wait for a core, which others should not spin on.
  if (ended == kAsleepFromWork) active_carriers.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t thread = sleeper.thread.load(std::memory_order_seq_cst);  // [sleep-2]
  if (thread && roost_unblock(thread) == 0) return;
  kernel::futex_wake_one(&sleeper.word.asleep);
  roused_at.store(kernel::now(), std::memory_order_relaxed);
}

struct roost_light* light_state(struct roost_light& own) {
  static constinit std::atomic<bool> registered{false};
  if (!roost_light_state || !own_thread()) return &own;
  if (!registered.exchange(true, std::memory_order_relaxed))
    roost_light_threads(light_event, &__ehdr_start, &etext);
  return roost_light_state();
}

bool suspect(std::uint32_t thread) { return thread && roost_suspect && roost_suspect(thread) == 0; }
bool suspect_sharing(std::uint32_t thread) {
  return thread && roost_suspect_sharing && roost_suspect_sharing(thread) == 0;
}

bool is_ready(std::uint32_t thread) { return thread && roost_ready && roost_ready(thread) == 1; }

void leave_scheduling() {
  if (roost_detach) roost_detach();
}

std::uint32_t own_thread() { return with_roost() ? roost_self() : 0; }

int own_core() { return roost_core ? roost_core() : -1; }

void pass_point(bool between) {
  if (between && roost_pass_point && here.carrier->thread.load(std::memory_order_relaxed)) {
    roost_pass_point();
    return;
  }
  if (roost_core && here.carrier->thread.load(std::memory_order_relaxed) && roost_core() < 0)
    roost_yield();
}

void yield() {
  if (roost_yield && roost_yield() >= 0) return;
  kernel::yield();
}

bool start_thread(void* (*main)(void*), void* argument, std::size_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes)
    pthread_attr_setstacksize(&attributes, stack_beside_thread_locals(stack_bytes, attributes));
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, main, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace roost::ult::host

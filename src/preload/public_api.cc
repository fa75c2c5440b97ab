// roost/roost.h: threads that runtimes block, wake and yield by hand.
//
// Handle of a thread: low 20 bits its record, high 12 bits the record's generation, which is odd
// while a thread uses it, so that no handle is zero. The permit of roost_unblock lives in the
// record with the same generation: (generation << 1) | permit, so that testing the handle and
// leaving the permit are one step. It is not the permit of the state word, which every wait of the
// thread may consume.
#include "preload/public_api.h"

#include <errno.h>
#include <string.h>

#include "preload/fork_gate.h"
#include "preload/futex.h"
#include "preload/lock.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/trap.h"
#include "preload/wait.h"
#include "roost/roost.h"

namespace roost {
namespace {

constexpr unsigned kIndexBits = 20;
constexpr std::uint32_t kGenerationMask = 0xfff;
constexpr std::uint32_t kHandPermit = 1;

using Record = ThreadRecord<RealWorld>;

std::uint32_t generation_of(const Record& record) {
  return record.generation.load(std::memory_order_relaxed) & kGenerationMask;
}

// The caller's permit, begun anew if the record's last user left it.
std::atomic<std::uint32_t>& own_permit() {
  Record& record = *self.record;
  std::uint32_t none = generation_of(record) << 1;
  if ((record.hand_permit.load(std::memory_order_relaxed) & ~kHandPermit) != none) {
    record.hand_permit.store(none, std::memory_order_relaxed);
  }
  return record.hand_permit;
}

bool take_permit() {
  std::atomic<std::uint32_t>& permit = own_permit();
  if (!(permit.load(std::memory_order_relaxed) & kHandPermit)) return false;
  permit.fetch_and(~kHandPermit, std::memory_order_acquire);  // [hand-1]
  return true;
}

// Whether the caller may wait through Roost here: 0 or an error.
int may_wait() {
  if (!self.record) return runtime_active() ? -ESRCH : -ENOTCONN;
  return can_park() ? 0 : -EBUSY;
}

int block(const Deadline* deadline) {
  if (int error = may_wait()) return error;
  if (take_permit()) return 0;
  wait_begins();
  bool permitted;
  Park ended = Park::woken;
  // The permit is left before the unpark: a wake-up for anything else only looks again.
  while (!(permitted = take_permit()) && ended != Park::timed_out) ended = park(deadline, false);
  wait_ends();
  return permitted ? 0 : -ETIMEDOUT;
}

void unpark_deferred(const void* key, std::uint32_t) {
  unpark(static_cast<ThreadIndex>(reinterpret_cast<std::uintptr_t>(key)));
}

// A core that is being claimed for a thread is nobody's own.
bool is_own(ThreadIndex owner) {
  return owner != kNoThread && runtime_segment().threads[owner].process == runtime_process();
}

// Copies outlive the mapping, which a fork replaces in the child.
const char* keep_name(char (&copy)[kInstanceNameBytes], const char* name, std::size_t bytes) {
  static constinit Lock lock;
  Unforked section;
  LockGuard guard(lock);
  if (!copy[0]) strncpy(copy, name, bytes - 1);
  return copy;
}

}  // namespace

bool find_handle(roost_thread handle, ThreadIndex& index) {
  index = handle & ((1u << kIndexBits) - 1);
  std::uint32_t generation = handle >> kIndexBits;
  if (index >= runtime_segment().header->n_threads) return false;
  return generation % 2 != 0 && generation_of(runtime_segment().threads[index]) == generation;
}

ROOST_EXPORT int roost_api_version() { return ROOST_API_VERSION; }

ROOST_EXPORT int roost_active() { return runtime_active(); }

ROOST_EXPORT roost_thread roost_self() {
  if (!self.record || self.index >> kIndexBits) return ROOST_NO_THREAD;
  return (own_permit().load(std::memory_order_relaxed) >> 1) << kIndexBits | self.index;
}

ROOST_EXPORT int roost_attach() {
  if (self.record) return -EALREADY;
  if (!in_managed_process()) return -ENOTCONN;
  if (inside_roost()) return -EBUSY;
  if (!thread_attach()) return -EAGAIN;
  adopt_thread();
  return 0;
}

ROOST_EXPORT int roost_detach() {
  if (int error = may_wait()) return error;
  if (Thread* t = this_thread()) t->index = kNoThread;
  trap_thread_ends();
  futexes_may_wait_unseen();
  thread_detach();
  return 0;
}

ROOST_EXPORT int roost_block() { return block(nullptr); }

ROOST_EXPORT int roost_block_until(std::uint64_t deadline_ns) {
  if (deadline_ns == ROOST_FOREVER) return block(nullptr);
  Deadline deadline{os::to_timespec(deadline_ns), false};
  return block(&deadline);
}

ROOST_EXPORT int roost_unblock(roost_thread thread) {
  if (!runtime_active()) return -ENOTCONN;
  ThreadIndex index;
  if (!find_handle(thread, index)) return -ESRCH;
  std::uint32_t generation = thread >> kIndexBits;
  Record& record = runtime_segment().threads[index];
  std::uint32_t word = record.hand_permit.load(std::memory_order_relaxed);
  do {
    if (word >> 1 != generation) return -ESRCH;
  } while (!record.hand_permit.compare_exchange_weak(word, word | kHandPermit,
                                                     std::memory_order_release,
                                                     std::memory_order_relaxed));  // [hand-1]
  // Also if a permit was there: whoever left it may have died before this step.
  if (inside_roost()) {
    defer_wake(unpark_deferred, reinterpret_cast<const void*>(std::uintptr_t{index}), 1);
  } else {
    unpark(index);
  }
  return 0;
}

ROOST_EXPORT int roost_yield() {
  if (int error = may_wait()) return error;
  return yield_core();
}

ROOST_EXPORT int roost_enter_blocking() {
  if (int error = may_wait()) return error;
  enter_external();
  return 0;
}

ROOST_EXPORT int roost_leave_blocking() {
  if (!self.record) return may_wait();
  if (!self.in_kernel) return -EINVAL;
  int saved = errno;  // of the program's call; starting a keeper may change it
  leave_external();
  errno = saved;
  return 0;
}

ROOST_EXPORT int roost_core() {
  if (!self.record) return -1;
  std::uint32_t word = self.record->state.load(std::memory_order_relaxed);
  return state_of(word) == State::running ? core_of(word) : -1;
}

ROOST_EXPORT int roost_ready(roost_thread thread) {
  if (!runtime_active()) return -ENOTCONN;
  ThreadIndex index;
  if (!find_handle(thread, index)) return -ESRCH;
  return state_of(runtime_segment().threads[index].state.load(std::memory_order_relaxed)) ==
         State::ready;
}

ROOST_EXPORT std::uint32_t roost_core_count() {
  return runtime_active() ? runtime_segment().header->n_cores : 0;
}

ROOST_EXPORT int roost_core_info(std::uint32_t core, struct roost_core_info* info) {
  if (!runtime_active()) return -ENOTCONN;
  if (core >= runtime_segment().header->n_cores) return -EINVAL;
  const CoreInfo& found = runtime_segment().core_info[core];
  *info = {found.os_cpu, found.node, found.socket, found.llc};
  return 0;
}

ROOST_EXPORT int roost_others_wait() {
  if (!runtime_active()) return 0;
  const Segment& segment = runtime_segment();
  // The mask is a hint that stays set for a while: the count decides.
  const unsigned n_cores = segment.header->n_cores;
  for (unsigned first = 0; first < n_cores; first += 64) {
    std::uint64_t bits = segment.header->queued[first / 64].bits.load(std::memory_order_relaxed);
    for (; bits; bits &= bits - 1) {
      unsigned core = first + static_cast<unsigned>(__builtin_ctzll(bits));
      if (core < n_cores && segment.cores[core].ready.load(std::memory_order_relaxed)) return 1;
    }
  }
  return 0;
}

ROOST_EXPORT int roost_state(struct roost_state* state) {
  if (!runtime_active()) return -ENOTCONN;
  *state = {};
  state->cores = runtime_segment().header->n_cores;
  for (unsigned core = 0; core < state->cores; ++core) {
    const CoreSlot<RealWorld>& slot = runtime_segment().cores[core];
    std::uint32_t owner = slot.owner.load(std::memory_order_relaxed);
    state->idle_cores += owner == 0;
    state->others_cores += owner && !is_own(thread_of_owner(owner));
    state->ready_threads += slot.ready.load(std::memory_order_relaxed);
  }
  return 0;
}

ROOST_EXPORT const char* roost_instance_name() {
  static char copy[kInstanceNameBytes];
  if (!runtime_active()) return nullptr;
  return keep_name(copy, runtime_segment().header->instance, kInstanceNameBytes);
}

ROOST_EXPORT const char* roost_policy_name() {
  static char copy[kInstanceNameBytes];
  if (!runtime_active()) return nullptr;
  return keep_name(copy, runtime_segment().header->policy, kPolicyNameBytes);
}

}  // namespace roost

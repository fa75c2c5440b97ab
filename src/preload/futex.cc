// Private futexes wait in the parking lot and in the kernel at once; the others in the kernel
// alone.
#include "preload/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "os/sys.h"
#include "preload/process.h"
#include "preload/trap.h"
#include "preload/wait.h"

namespace roost {
namespace {

// Marks these waiters among those of the lot: the word may be the first of another object.
constexpr std::uint32_t kFutex = 0xf07e;

std::atomic<bool> unseen_waiters{false};
// Threads that wait on private futexes in the kernel alone; one that never came back counts on.
std::atomic<std::uint32_t> kernel_waiters{0};

bool is_private(const SystemCall& s) { return s.b & FUTEX_PRIVATE_FLAG; }
std::uint32_t* word_of(const SystemCall& s) { return reinterpret_cast<std::uint32_t*>(s.a); }

bool for_all_bits(const SystemCall& s) {
  return static_cast<std::uint32_t>(s.f) == FUTEX_BITSET_MATCH_ANY;
}

// What no kernel would take for a futex; the rest may be looked at as the program itself does.
bool plausible(const SystemCall& s) {
  constexpr long kLowest = 65536, kEnd = 1l << 47;
  return s.a >= kLowest && s.a < kEnd && s.a % 4 == 0;
}

bool is_wait(const SystemCall& s) {
  switch (s.b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI2:
      return true;
    default:
      return false;
  }
}

// A wait with nothing that the kernel could reject, whose word has changed already. The kernel is
// not asked: the word may have changed back before it looks, and it would wait, unseen by wakers.
bool word_differs(const SystemCall& s) {
  long kind = s.b & ~static_cast<long>(FUTEX_PRIVATE_FLAG);
  return (kind == FUTEX_WAIT ||
          (kind == FUTEX_WAIT_BITSET && static_cast<std::uint32_t>(s.f) != 0)) &&
         s.d == 0 && plausible(s) &&
         __atomic_load_n(word_of(s), __ATOMIC_RELAXED) != static_cast<std::uint32_t>(s.c);
}

bool kernel_has_waitv() {
  static constinit std::atomic<int> known{0};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == 0) {
    answer = os::futex_wait_any(nullptr, 0) == -EINVAL ? 1 : -1;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer > 0;
}

// Asynchronous cancellation would leave the waiter in the lot.
bool cancelled_anywhere() {
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  if (type == PTHREAD_CANCEL_DEFERRED) return false;
  pthread_setcanceltype(type, nullptr);
  return true;
}

bool can_wait_parked(const SystemCall& s) {
  bool kind = s.b == (FUTEX_WAIT | FUTEX_PRIVATE_FLAG) ||
              (s.b == (FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG) && for_all_bits(s));
  return kind && s.d == 0 && plausible(s) && can_park() && waits_in_managed_process() &&
         !unseen_waiters.load(std::memory_order_relaxed) && trap_sees_all_threads() &&
         kernel_has_waitv() && !cancelled_anywhere();
}

bool is_ours(const LotWaiter& waiter) { return waiter.tag == kFutex; }

std::uint32_t wake_parked(const void* word, std::uint32_t count) {
  LotHost host;
  return signal_waiters<RealWorld>(bucket_of(word), word, count, host, is_ours);
}
void wake_deferred(const void* word, std::uint32_t count) { wake_parked(word, count); }

bool only_parked_waiters() {
  return !unseen_waiters.load(std::memory_order_relaxed) &&
         kernel_waiters.load(std::memory_order_seq_cst) == 0 && trap_sees_all_threads();
}

// Up to `count` waiters, those of the lot first. How many.
long wake(SystemCall s, std::uint32_t count) {
  const void* word = word_of(s);
  std::uint32_t woken = 0;
  RealWorld::fence();  // [lot-1] what the program wrote before the look at waiters
  if (lot.may_have_waiters(word)) {
    if (inside_roost()) {
      defer_wake(wake_deferred, word, count);
    } else {
      woken = wake_parked(word, count);
    }
  }
  if (woken == count || only_parked_waiters()) return woken;
  s.c = count - woken;
  long more = made_in_kernel(s);
  return more < 0 ? more : woken + more;
}

// For what the lot does not do (requeueing and the like): who waits for the word now waits in the
// kernel alone, and who comes after does so from the start.
long leave_to_kernel(const SystemCall& s) {
  futexes_may_wait_unseen();
  RealWorld::fence();
  for (long word : {s.a, s.e}) {
    const void* key = reinterpret_cast<const void*>(word);
    if (!inside_roost() && lot.may_have_waiters(key))
      expel_waiters<RealWorld>(bucket_of(key), key, is_ours);
  }
  return made_in_kernel(s);
}

long wait_parked(const SystemCall& s) {
  auto expected = static_cast<std::uint32_t>(s.c);
  OutsideWord outside{word_of(s), expected};
  LotHost host(outside);
  host.waits_for("futex");
  LotBucketOf& bucket = bucket_of(word_of(s));
  LotWaiter waiter;
  waiter.key = word_of(s);
  waiter.tag = kFutex;
  bool waits = begin_signal_wait<RealWorld>(bucket, waiter, host, [&] {
    return __atomic_load_n(word_of(s), __ATOMIC_SEQ_CST) == expected;
  });
  if (!waits) return -EAGAIN;
  WaitResult result = end_signal_wait<RealWorld>(bucket, waiter, host);
  using End = OutsideWord::End;
  if (result == WaitResult::woken) {
    // Woken twice: the second wake-up was another waiter's.
    if (outside.end == End::woken)
      wake({SYS_futex, s.a, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0}, 1);
    return 0;
  }
  if (outside.end == End::none) return -EINTR;
  return outside.end == End::changed ? -EAGAIN : 0;
}

}  // namespace

long serve_futex(const SystemCall& s) {
  if (is_wait(s)) {
    if (word_differs(s)) return -EAGAIN;
    if (can_wait_parked(s)) return wait_parked(s);
    auto call = [&] { return made_in_kernel(s); };
    // The kernel notes who takes a lock (PI).
    int kind = s.b & FUTEX_CMD_MASK;
    bool any_thread_may = kind == FUTEX_WAIT || kind == FUTEX_WAIT_BITSET;
    auto wait = [&] { return any_thread_may ? without_core_anywhere(call) : without_core(call); };
    if (!is_private(s)) return wait();
    kernel_waiters.fetch_add(1, std::memory_order_seq_cst);
    long result = wait();
    kernel_waiters.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }
  if (!is_private(s) || !plausible(s) || !waits_in_managed_process()) return made_in_kernel(s);
  auto count = static_cast<int>(s.c);
  switch (s.b & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
      return count < 1 ? made_in_kernel(s) : wake(s, static_cast<std::uint32_t>(count));
    case FUTEX_WAKE_BITSET:
      if (count > 0 && for_all_bits(s)) return wake(s, static_cast<std::uint32_t>(count));
      return leave_to_kernel(s);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      return leave_to_kernel(s);
    default:
      return made_in_kernel(s);
  }
}

void futexes_may_wait_unseen() { unseen_waiters.store(true, std::memory_order_relaxed); }

}  // namespace roost

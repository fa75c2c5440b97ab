// The table of carriers: threads come and go; workers; what is shown and sent.
#include "ult/carriers.h"

#include <pthread.h>

#include <cerrno>

#include "ult/in_use.h"
#include "ult/interrupt.h"
#include "ult/kernel.h"
#include "ult/overflow.h"
#include "ult/spin_lock.h"
#include "ult/watch.h"

// Of the C++ runtime, if the program has brought one before its first use of OpenMP.
extern "C" roost::ult::Exceptions* __cxa_get_globals() __attribute__((weak));

namespace roost::ult {

constinit std::atomic<unsigned> sleeping_carriers{0};
constinit std::atomic<std::size_t> worker_stack_bytes{0};
constinit std::atomic<void (*)(Carrier& carrier)> carrier_ends{nullptr};

namespace {

constinit std::atomic<Carrier*> table[kMaxCarriers] = {};
constinit std::atomic<unsigned> table_size{0};
constinit Carrier* ended = nullptr;  // to be used again; linked by `user`
constinit LockOverForks table_lock;

constinit std::atomic<Carrier*> workers[kMaxCarriers] = {};
constinit std::atomic<bool> claimed[kMaxCarriers] = {};
constinit std::atomic<unsigned> n_workers{0};
constinit std::uint64_t blocked_by[kMaxCarriers] = {};  // signals
constinit LockOverForks workers_lock;

constinit pthread_key_t end_key = 0;
constinit bool have_end_key = false;

Carrier* take_record() {
  GuardOverForks guard(table_lock);
  if (Carrier* carrier = ended) {
    ended = static_cast<Carrier*>(carrier->user);
    carrier->user = nullptr;
    return carrier;
  }
  unsigned index = table_size.load(std::memory_order_relaxed);
  auto* carrier = index < kMaxCarriers ? permanent_array<Carrier>(1) : nullptr;
  if (!carrier) return nullptr;
  new (carrier) Carrier;
  carrier->index = index;
  carrier->root.carrier = carrier;
  table[index].store(carrier, std::memory_order_release);
  table_size.store(index + 1, std::memory_order_release);
  return carrier;
}

void end_thread(void* argument) {
  auto* carrier = static_cast<Carrier*>(argument);
  if (auto ends = carrier_ends.load(std::memory_order_relaxed)) ends(*carrier);
  count_out(*carrier);
  end_watch_for_overflow(*carrier);
  *carrier->light = {};
  carrier->inside.store(nullptr, std::memory_order_relaxed);
  carrier->light = &carrier->own_light;
  carrier->thread.store(0, std::memory_order_relaxed);
  here = {};
  GuardOverForks guard(table_lock);
  carrier->user = ended;
  ended = carrier;
}

// The thread's key may have been destroyed before ours: a carrier that attaches again then is not
// given back, which costs its record.
void call_at_end(Carrier& carrier) {
  {
    GuardOverForks guard(table_lock);
    if (!have_end_key) have_end_key = pthread_key_create(&end_key, end_thread) == 0;
  }
  if (have_end_key) pthread_setspecific(end_key, &carrier);
}

Carrier& become_carrier() {
  Carrier* carrier = take_record();
  if (!carrier) out_of_memory("a thread's record");
  carrier->root.inside = nullptr;
  look_for_sanitizers();
  carrier->root.fibre = {};
  carrier->thread.store(host::own_thread(), std::memory_order_relaxed);
  carrier->tid.store(kernel::gettid(), std::memory_order_relaxed);
  carrier->error = &errno;
  carrier->exceptions = __cxa_get_globals ? __cxa_get_globals() : nullptr;
  carrier->light = host::light_state(carrier->own_light);
  carrier->current = &carrier->root;
  carrier->victim = carrier->glance = carrier->index;
  here.carrier = carrier;
  return *carrier;
}

void* worker_main(void* argument) {
  auto* place = static_cast<std::atomic<Carrier*>*>(argument);
  Carrier& carrier = become_carrier();
  call_at_end(carrier);
  kernel::change_signal_mask(SIG_SETMASK, blocked_by[place - workers]);
  place->store(&carrier, std::memory_order_release);
  work(carrier);
  // While thread-local variables of the program's are there, which a tool may use.
  if (have_end_key) pthread_setspecific(end_key, nullptr);
  end_thread(&carrier);
  return nullptr;
}

}  // namespace

unsigned carriers_count() { return table_size.load(std::memory_order_acquire); }
Carrier* carrier_at(unsigned index) { return table[index].load(std::memory_order_acquire); }

Carrier& attach() {
  if (here.carrier) return *here.carrier;
  begin_use();
  Carrier& carrier = become_carrier();
  call_at_end(carrier);
  return carrier;
}

bool show(Carrier& carrier, Batch& batch) {
  unsigned count = carrier.n_open.load(std::memory_order_relaxed);
  if (count == kOpenBatches) return false;
  for (std::atomic<Batch*>& slot : carrier.open) {
    if (slot.load(std::memory_order_relaxed)) continue;
    slot.store(&batch, std::memory_order_release);
    break;
  }
  carrier.n_open.store(count + 1, std::memory_order_relaxed);
  return true;
}

void hide(Carrier& carrier, Batch& batch) {
  for (std::atomic<Batch*>& slot : carrier.open) {
    if (slot.load(std::memory_order_relaxed) != &batch) continue;
    slot.store(nullptr, std::memory_order_relaxed);
    carrier.n_open.store(carrier.n_open.load(std::memory_order_relaxed) - 1,
                         std::memory_order_relaxed);
    return;
  }
}

void call_for_help(const Batch& batch) {
  RealWorld::fence();  // [open-1]
  if (!sleeping_carriers.load(std::memory_order_relaxed)) return;
  if (!core_to_spare()) return;
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n; ++i) {
    Carrier* carrier = carrier_at(i);
    if (!carrier->sleeper.word.is_set()) continue;
    if (!may_begin(carrier->hungry.load(std::memory_order_relaxed), batch)) continue;
    host::wake(carrier->sleeper);
    return;
  }
}

unsigned workers_count() { return n_workers.load(std::memory_order_acquire); }

void call_for_pieces(const Batch& batch) {
  RealWorld::fence();  // [open-1], as for an open batch
  if (!sleeping_carriers.load(std::memory_order_relaxed)) return;
  if (!core_to_spare()) return;
  unsigned n = carriers_count();
  for (unsigned i = 0; i < n; ++i) {
    Carrier* carrier = carrier_at(i);
    if (!carrier->sleeper.word.is_set()) continue;
    if (!carrier->wants_pieces.load(std::memory_order_relaxed)) continue;
    if (carrier->hungry.load(std::memory_order_relaxed) != &batch) continue;
    host::wake(carrier->sleeper);
    return;
  }
}

unsigned ensure_workers(unsigned count, const std::uint64_t* blocked) {
  unsigned have = n_workers.load(std::memory_order_acquire);
  if (have >= count) return have;
  InRuntime in_runtime;
  // A handler that forks while libc has malloc's lock here would wait for itself.
  kernel::NoSignals no_signals;
  GuardOverForks guard(workers_lock);
  for (have = n_workers.load(std::memory_order_relaxed); have < count && have < kMaxCarriers;) {
    blocked_by[have] = blocked ? *blocked : no_signals.blocked_before();
    if (!host::start_thread(worker_main, &workers[have],
                            worker_stack_bytes.load(std::memory_order_relaxed))) {
      break;
    }
    n_workers.store(++have, std::memory_order_release);
  }
  return have;
}

bool dismiss_workers() {
  GuardOverForks guard(workers_lock);
  for (unsigned have = n_workers.load(std::memory_order_relaxed); have > 0; --have) {
    Carrier* carrier = workers[have - 1].load(std::memory_order_acquire);
    std::uint64_t expected = Mail::kListening;
    if (!carrier || !carrier->mail.compare_exchange_strong(expected, Mail::kLeaving,
                                                           std::memory_order_seq_cst)) {
      return false;
    }
    workers[have - 1].store(nullptr, std::memory_order_relaxed);
    n_workers.store(have - 1, std::memory_order_release);
    host::wake(carrier->sleeper);
  }
  return true;
}

bool send(unsigned worker, Batch& batch, unsigned call, bool even_asleep) {
  Carrier* carrier = workers[worker].load(std::memory_order_acquire);
  if (!carrier) return false;  // its thread has not begun
  prefetch_for_write(&carrier->mail);
  if (!even_asleep && carrier->sleeper.word.is_set()) return false;
  std::uint64_t expected = Mail::kListening;
  if (!carrier->mail.compare_exchange_strong(expected, Mail(&batch, call).word,
                                             std::memory_order_acq_rel)) {
    return false;
  }
  host::wake(carrier->sleeper);
  return true;
}

bool asleep(unsigned worker) {
  Carrier* carrier = workers[worker].load(std::memory_order_acquire);
  return carrier && carrier->sleeper.word.is_set();
}

bool will_listen(unsigned worker, const Batch& batch) {
  Carrier* carrier = workers[worker].load(std::memory_order_acquire);
  if (!carrier) return worker < workers_count();  // its thread begins, or it was dismissed
  return Mail(carrier->mail.load(std::memory_order_relaxed)).runs_call_of(batch);
}

// Those that are at calls may be leaving them, as the caller's last batch has just ended.
unsigned cores_at_hand() {
  constexpr unsigned kLooks = 16;
  unsigned idle = host::idle_cores(), listen = 0, n = workers_count();
  for (unsigned look = 0; look < kLooks; ++look) {
    bool any_busy = false;
    listen = 0;
    for (unsigned i = 0; i < n; ++i) {
      const Carrier* worker = workers[i].load(std::memory_order_acquire);
      if (!worker || worker->sleeper.word.is_set()) continue;
      bool listens = worker->mail.load(std::memory_order_relaxed) == Mail::kListening;
      listen += listens;
      any_busy |= !listens;
    }
    if (!any_busy) break;
    cpu_pause();
  }
  return 1 + idle + listen;
}

bool claim(unsigned worker) { return !claimed[worker].exchange(true, std::memory_order_relaxed); }
void unclaim(unsigned worker) { claimed[worker].store(false, std::memory_order_relaxed); }

bool take_back(unsigned worker, Batch& batch, unsigned call) {
  Carrier* carrier = workers[worker].load(std::memory_order_relaxed);
  std::uint64_t expected = Mail(&batch, call).word;
  return carrier && carrier->mail.compare_exchange_strong(expected, Mail::kListening,
                                                          std::memory_order_acquire);
}

void lock_before_fork() {
  table_lock.acquire_before_fork();
  workers_lock.acquire_before_fork();
  lock_permanent();
}

void unlock_after_fork() {
  unlock_permanent();
  workers_lock.release_after_fork();
  table_lock.release_after_fork();
}

void reset_after_fork() {
  unlock_permanent();
  table_lock.release_after_fork();
  workers_lock.release_after_fork();
  // Some places may be empty still: of threads that were just beginning.
  for (unsigned n = n_workers.exchange(0, std::memory_order_relaxed); n-- > 0;)
    workers[n].store(nullptr, std::memory_order_relaxed);
  for (std::atomic<bool>& claim : claimed) claim.store(false, std::memory_order_relaxed);
  sleeping_carriers.store(0, std::memory_order_relaxed);
  active_carriers.store(here.carrier && here.carrier->counted ? 1 : 0, std::memory_order_relaxed);
  if (Carrier* own = here.carrier) {
    own->ready.clear();
    own->woken.store(nullptr, std::memory_order_relaxed);
    own->current->signalled.store(false, std::memory_order_relaxed);
    for (Strand* spare = own->spare; spare; spare = spare->next_spare)
      spare->signalled.store(false, std::memory_order_relaxed);
    own->current->inside = nullptr;
    own->live = own->current == &own->root ? 0 : 1;
  }
  // Nobody shows anything any more; the other threads' records are not used again.
  for (unsigned i = 0; i < carriers_count(); ++i) {
    Carrier* carrier = carrier_at(i);
    for (std::atomic<Batch*>& slot : carrier->open) slot.store(nullptr, std::memory_order_relaxed);
    carrier->n_open.store(0, std::memory_order_relaxed);
    carrier->overdue.store(nullptr, std::memory_order_relaxed);
    carrier->due.store(nullptr, std::memory_order_relaxed);
    carrier->sleeper.word.cancel();
    carrier->hungry.store(nullptr, std::memory_order_relaxed);
  }
  host::forget_cores();
  if (Carrier* own = here.carrier) {
    own->thread.store(host::own_thread(), std::memory_order_relaxed);
    own->tid.store(kernel::gettid(), std::memory_order_relaxed);
    own->light = host::light_state(own->own_light);
  }
  watch_after_fork();
}

}  // namespace roost::ult

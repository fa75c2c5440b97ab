// pthread_create and the life of a kernel thread: run, finish, wait in the cache, run again.
#include "preload/thread_create.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/loaded_object.h"
#include "os/sys.h"
#include "preload/blas.h"
#include "preload/blas_calls.h"
#include "preload/futex.h"
#include "preload/inherit.h"
#include "preload/library_threads.h"
#include "preload/process.h"
#include "preload/realtime.h"
#include "preload/signal_stack.h"
#include "preload/thread_cache.h"
#include "preload/thread_end.h"
#include "preload/trap.h"
#include "preload/trap_signals.h"
#include "preload/wait.h"
#include "sched/keeper.h"

namespace roost {
namespace {

std::atomic<long> live_threads{0};
std::atomic<long> ended_past_libc{0};  // and still counted there
pthread_key_t end_key_value;
std::atomic<std::size_t> default_generation{0};

// What of pthread_attr_t matters to the cache.
struct Attributes {
  std::size_t stack_size = 0;
  std::size_t guard_size = 0;
  bool detached = false;
  bool shareable = true;  // a cached thread may serve, and this one may be cached later
  bool has_mask = false;
  std::uint64_t mask = 0;
  bool has_affinity = false;
  CpuSet affinity;
};

ROOST_LISTED constinit Real<int(const pthread_attr_t*, sigset_t*)> attr_getsigmask{
    "pthread_attr_getsigmask_np"};

void read_mask_and_affinity(const pthread_attr_t* attr, Attributes& a) {
  sigset_t mask;
  if (auto get = attr_getsigmask.find(); get && get(attr, &mask) == 0) {
    a.has_mask = true;
    memcpy(&a.mask, &mask, sizeof a.mask);
  }
  CpuSet set;
  if (pthread_attr_getaffinity_np(attr, sizeof set, reinterpret_cast<cpu_set_t*>(&set)) == 0) {
    for (std::uint64_t word : set.words) a.has_affinity |= word != ~0ull;
    a.affinity = set;
  }
}

Attributes read_attributes(const pthread_attr_t* attr) {
  Attributes a;
  if (!attr) {
    // All threads with default attributes are alike until the defaults change.
    a.guard_size = default_generation.load(std::memory_order_relaxed);
    pthread_attr_t defaults;
    if (a.guard_size != 0 && pthread_getattr_default_np(&defaults) == 0) {
      read_mask_and_affinity(&defaults, a);
      pthread_attr_destroy(&defaults);
    }
    return a;
  }
  int value = 0;
  pthread_attr_getdetachstate(attr, &value);
  a.detached = value == PTHREAD_CREATE_DETACHED;
  pthread_attr_getinheritsched(attr, &value);
  if (value == PTHREAD_EXPLICIT_SCHED) a.shareable = false;
  void* stack = nullptr;
  pthread_attr_getstack(attr, &stack, &a.stack_size);
  // Without a stack of the user's glibc's address is null, and getstack subtracts the size.
  if (reinterpret_cast<std::uintptr_t>(stack) + a.stack_size != 0) a.shareable = false;
  pthread_attr_getstacksize(attr, &a.stack_size);
  pthread_attr_getguardsize(attr, &a.guard_size);
  read_mask_and_affinity(attr, a);
  return a;
}

// Whether threads that the caller creates inherit what others do not have. Of one that is not known
// here nobody knows.
bool creator_differs() {
  Thread* creator = this_thread();
  return !creator || creator->differs.load(std::memory_order_relaxed);
}

void prepare(Thread* t, void* (*start)(void*), void* argument, const Attributes& a) {
  t->start = start;
  t->argument = argument;
  t->result = nullptr;
  t->detached = a.detached;
  t->joiner = nullptr;
  t->cacheable = a.shareable;  // never where the creator differs
  t->stack_size = a.stack_size;
  t->guard_size = a.guard_size;
  t->cancel_requested.store(false, std::memory_order_relaxed);
  t->cancel_acted = false;
  t->keep_out_of_cache.store(false, std::memory_order_relaxed);
  t->differs.store(creator_differs(), std::memory_order_relaxed);
  t->policy_changed.store(false, std::memory_order_relaxed);
  t->realtime = false;
  t->phase.store(Phase::running, std::memory_order_relaxed);
  Thread* creator = this_thread();
  t->has_affinity_hint = a.has_affinity || (creator && creator->has_affinity_hint);
  if (t->has_affinity_hint) t->affinity_hint = a.has_affinity ? a.affinity : creator->affinity_hint;
}

// The stacks of threads that wait to be used again would count.
bool address_space_is_limited() {
  rlimit64 limit{RLIM64_INFINITY, RLIM64_INFINITY};
  os::raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, os::arg(&limit));
  return limit.rlim_cur != RLIM64_INFINITY;
}

// Whether the calling thread, after its destructors, left something in its kernel thread that a
// successor must not find: its clock shows what all have used.
bool leaves_traces(const Thread* t, const Inherited& state) {
  constexpr Nanoseconds kMostUsed = 1'000'000;
  return t->keep_out_of_cache.load(std::memory_order_relaxed) || t->owned_mutexes != 0 ||
         holds_robust_mutex() || (state.signal_mask != 0 && signals_pending()) ||
         os::thread_cpu_time() > kMostUsed || address_space_is_limited();
}

// The start function returned. True: the kernel thread stays for reuse and the program's thread is
// over; false: it must end for real.
bool finish(Thread* t, void* result) {
  if (!self.record || !t->cacheable || !runtime_active() || !can_reset_thread_storage())
    return false;
  // A detached thread ends for real: nobody says when its kernel thread id may be seen again.
  if (t->detached) return false;
  run_thread_destructors();
  Inherited before = inherited_state();
  if (leaves_traces(t, before)) return false;
  leave_external();      // it may have ended between roost_enter_blocking and roost_leave_blocking
  WithoutNudges::end();  // and setcontext may have left a call
  self.record->generation.fetch_add(2, std::memory_order_relaxed);  // its handle ends here
  trap_thread_pauses();
  block_signals();
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
  reset_thread_storage();
  threads_lock.acquire();
  bool stays =
      !t->detached && !t->cancel_requested.load(std::memory_order_relaxed) && cache_has_room();
  bool was_last = false;
  if (stays) {
    t->result = result;
    cache_finished(t);
    // Before anybody can join it: who ends next must know whether it is the last.
    was_last = thread_finished();
    // [lot-1] before the look at joiners.
    t->phase.store(Phase::finished, std::memory_order_seq_cst);
  }
  threads_lock.release();
  if (!stays) {
    apply_inherited(before);
    trap_thread_resumes();
    return false;
  }
  discard_own_signals();
  wake_joiners(t);
  if (was_last) {
    apply_inherited(before);  // the program's exit handlers may be sent signals
    trap_thread_resumes();
    exit(0);
  }
  return true;
}

// False: it ends for real, with what its last thread returned. The Thread may be gone then.
bool await_next_start(Thread* t) {
  await_creator(t);
  bool joined;
  while (!t->assigned.exchange(false, std::memory_order_acquire)) {
    if (t->ends.load(std::memory_order_relaxed) && cache_leave(t, joined)) {
      end_unused(joined ? t : nullptr);
      return false;
    }
    park_ended();
  }
  errno = 0;
  apply_inherited(t->inherited);
  trap_thread_resumes();
  return true;
}

void complain_once_about_records() {
  static std::atomic<bool> said{false};
  if (said.exchange(true, std::memory_order_relaxed)) return;
  constexpr char kText[] =
      "roost: the instance has no free thread record; further threads run unmanaged "
      "(`--set max_threads=N` when it is created)\n";
  os::write(2, kText, sizeof kText - 1);
}

void* kernel_thread(void* data) {
  auto* t = static_cast<Thread*>(data);
  self.thread = t;
  self.tid = t->tid = os::gettid();
  register_thread(t, pthread_self());
  pthread_setspecific(end_key_value, t);
  if (begins_realtime()) {
    futexes_may_wait_unseen();
  } else if (!thread_attach()) {
    // Else the process is about to end, or a filter keeps newcomers out.
    if (runtime_active() && !runtime_restricted()) complain_once_about_records();
    futexes_may_wait_unseen();
  }
  t->index = self.index;
  signal_stack_start();
  set_signal_mask(t->inherited.signal_mask);
  trap_thread_starts();
  roost_cleanups none;
  roost_note_cleanups(&none);
  for (;;) {
    void* result = t->start(t->argument);
    roost_reset_cleanups(&none);
    t->argument = nullptr;  // a leak is the program's from here on
    if (!finish(t, result) || !await_next_start(t)) return result;
  }
}

// Whether another library has its own code around every thread (AddressSanitizer): that code runs
// before and after Roost knows the thread, and waits unseen.
bool others_begin_threads() {
  dl_find_object libc, creator;
  return find_object(reinterpret_cast<const void*>(gnu_get_libc_version), libc) &&
         find_object(reinterpret_cast<const void*>(real::pthread_create.get()), creator) &&
         creator.dlfo_map_start != libc.dlfo_map_start;
}

// `has_mask`: the attributes say what signals the thread blocks, and it has begun so.
int create_kernel_thread(pthread_t* handle, const pthread_attr_t* attr, bool has_mask, Thread* t) {
  // libc's thread is always joinable: whether the program's is detached may change with reuse.
  pthread_attr_t copy;
  if (attr) {
    memcpy(&copy, attr, sizeof copy);
    pthread_attr_setdetachstate(&copy, PTHREAD_CREATE_JOINABLE);
  }
  // Until it is known here it must not take a signal, whose handler may end it.
  NoSignals of_its_own;
  if (!has_mask) t->inherited.signal_mask = believed_mask(of_its_own.before());
  // The child inherits the affinity: it may start on any core of the instance.
  unpin_self();
  int error = real::pthread_create(handle, attr ? &copy : nullptr, kernel_thread, t);
  repin_self();
  return error;
}

// Kernel threads that wait for the next thread of the program take memory and count as processes:
// where one cannot be created for want of either, they end, and it is tried again.
int create_in_their_place(pthread_t* handle, const pthread_attr_t* attr, bool has_mask, Thread* t) {
  constexpr int kTries = 100;
  constexpr Nanoseconds kMoment = 500'000;
  int error = EAGAIN;
  if (cache_end_all() == 0) return error;
  for (int tries = 0; error == EAGAIN && tries < kTries; ++tries) {
    without_core([] {
      os::sleep_for(kMoment);
      return 0;
    });
    cache_end_all();  // it tells some at a time
    error = create_kernel_thread(handle, attr, has_mask, t);
  }
  return error;
}

// The last of the keys whose values libc keeps in the thread itself, for which it needs no memory:
// the program gets the numbers it would get without us, does not meet ours by a key it never
// created, and has its destructors run first.
void create_end_key() {
  constexpr unsigned kInThread = 32;
  pthread_key_t taken[kInThread];
  unsigned n = 0;
  while (n < kInThread && real::pthread_key_create(&taken[n], on_thread_end) == 0)
    if (taken[n++] >= kInThread - 1) break;
  if (n == 0) return;
  end_key_value = taken[--n];
  while (n > 0) real::pthread_key_delete(taken[--n]);
}

// libc registers a robust list for each thread it makes.
bool made_by_libc() {
  void* head = nullptr;
  std::size_t length = 0;
  long error = os::raw_syscall(SYS_get_robust_list, 0, os::arg(&head), os::arg(&length));
  return error < 0 || head;
}

// Whether the calling thread, older than Roost, was created detached.
bool is_detached() {
  if (os::gettid() == os::getpid()) return false;
  pthread_attr_t attributes;
  if (real::pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  int state = PTHREAD_CREATE_JOINABLE;
  pthread_attr_getdetachstate(&attributes, &state);
  pthread_attr_destroy(&attributes);
  return state == PTHREAD_CREATE_DETACHED;
}

}  // namespace

int create_thread(pthread_t* handle, const pthread_attr_t* attr, void* (*start)(void*),
                  void* argument) {
  resolve_functions();
  if (!in_managed_process() || inside_roost())
    return real::pthread_create(handle, attr, start, argument);
  if (!runtime_restricted()) keeper_start();
  trap_before_thread();
  blas_before_thread();
  Attributes attributes = read_attributes(attr);
  note_policy_of(attr);
  if (creator_differs()) attributes.shareable = false;
  if (attributes.shareable) {
    if (Thread* t = cache_take(attributes.stack_size, attributes.guard_size)) {
      prepare(t, start, argument, attributes);
      t->inherited = inherited_state();
      if (attributes.has_mask) t->inherited.signal_mask = attributes.mask;
      *handle = t->handle;
      thread_started();
      ThreadIndex index = t->index;
      t->assigned.store(true, std::memory_order_release);
      unpark(index);
      return 0;
    }
  }
  Thread* t = allocate_thread();
  if (!t) return EAGAIN;
  prepare(t, start, argument, attributes);
  t->inherited.signal_mask = believed_mask(attributes.mask);
  thread_started();
  int error = create_kernel_thread(handle, attr, attributes.has_mask, t);
  if (error == EAGAIN) error = create_in_their_place(handle, attr, attributes.has_mask, t);
  if (error) {
    live_threads.fetch_sub(1, std::memory_order_relaxed);
    free_thread(t);
    return error;
  }
  // The new thread registers itself as well, but may not have begun.
  register_thread(t, *handle);
  t->creator_done.store(true, std::memory_order_release);
  return 0;
}

pthread_key_t end_key() { return end_key_value; }

long program_threads() {
  return live_threads.load(std::memory_order_seq_cst) -
         ended_past_libc.load(std::memory_order_seq_cst);
}

void thread_started() { live_threads.fetch_add(1, std::memory_order_relaxed); }

// Each first counts itself out: of two that end at once, one sees that it was the last.
bool thread_finished() {
  if (live_threads.fetch_sub(1, std::memory_order_seq_cst) == 1) return true;
  if (program_threads() == 0) {
    // Libc would not know it for the last, and run no exit handlers.
    stop_process();
    os::raw_syscall(SYS_exit_group, 0);
  }
  return false;
}
bool thread_ends_past_libc() {
  if (this_thread()) ended_past_libc.fetch_add(1, std::memory_order_seq_cst);
  return program_threads() == 0;
}

void threads_start() {
  create_end_key();
  if (others_begin_threads()) futexes_may_wait_unseen();
  adopt_thread();
}

void adopt_thread() {
  Thread* t = this_thread();
  if (!t && made_by_libc()) {
    t = allocate_thread();
    if (!t) return;
    self.thread = t;
    t->tid = self.tid = os::gettid();
    t->detached = is_detached();
    t->creator_done.store(true, std::memory_order_relaxed);
    register_thread(t, pthread_self());
    pthread_setspecific(end_key_value, t);
    thread_started();
  }
  if (t) t->index = self.index;
  signal_stack_start();
  trap_thread_starts();
}

void threads_after_fork() {
  cache_after_fork();
  thread_images_after_fork();
  live_threads.store(1, std::memory_order_relaxed);
  ended_past_libc.store(0, std::memory_order_relaxed);
  Thread* t = this_thread();
  reset_table(t);
  trap_after_fork();
  if (!t) return;
  t->tid = self.tid = os::gettid();
  t->index = self.index;
  t->detached = false;
  t->joiner = nullptr;
  t->creator_done.store(true, std::memory_order_relaxed);
  follow_policy_after_fork();
}

ROOST_EXPORT int pthread_create(pthread_t* handle, const pthread_attr_t* attr,
                                void* (*start)(void*), void* argument) noexcept {
  dl_find_object caller;
  if (find_object(__builtin_return_address(0), caller)) {
    if (!attr && make_library_thread(caller, handle, start, argument)) return 0;
    blas_calls_before_thread(caller);
  }
  return create_thread(handle, attr, start, argument);
}

ROOST_EXPORT int pthread_setattr_default_np(const pthread_attr_t* attr) noexcept {
  default_generation.fetch_add(1, std::memory_order_relaxed);
  return real::pthread_setattr_default_np(attr);
}

ROOST_EXPORT int thrd_create(thrd_t* handle, thrd_start_t start, void* argument) {
  // As in glibc: the int comes back in the register that holds the pointer.
  auto as_posix = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void*>(start));
  switch (create_thread(handle, nullptr, as_posix, argument)) {
    case 0:
      return thrd_success;
    case EAGAIN:
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

}  // namespace roost

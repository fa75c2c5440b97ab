// Threads as the program sees them, over kernel threads that outlive them (USF section 4.3.1).
//
// A program's thread that returns from its start function leaves its kernel thread behind in a
// cache; the next pthread_create of the same stack and guard size takes it. To the program the new
// thread is new: fresh thread-local storage, no key values, inherited signal mask and
// floating-point modes. A thread that calls pthread_exit, is cancelled, or changed kernel state
// that cannot be restored ends for real, exactly as libc does it.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/types.h"
#include "preload/cancel_region.h"
#include "sched/runtime_os.h"
#include "sched/self.h"

namespace roost {

// What a new thread inherits from its creator.
struct Inherited {
  std::uint64_t signal_mask;
  std::uint32_t mxcsr;
  std::uint16_t x87_control;
  char name[16];  // empty: nobody in this process ever set a name
};

enum class Phase : std::uint32_t {
  running,   // from creation on
  finished,  // start function returned; result valid; kernel thread waits for reuse
  ending,    // ends for real: libc's own join has the result
};

// Where its kernel thread is while it waits for the next (thread_cache.h).
enum class Cached : std::uint8_t { no, finished, joined };

struct Thread {
  pthread_t handle;
  void* (*start)(void*);
  void* argument;
  void* result;
  std::atomic<Phase> phase;
  std::atomic<bool> registered;
  std::atomic<bool> cancel_requested;
  bool cancel_acted;               // it unwinds already; its handlers may wait as they like
  std::atomic<bool> assigned;      // a cached thread got its next start function
  std::atomic<bool> creator_done;  // whoever created it needs this no more
  std::atomic<bool> keep_out_of_cache;
  std::atomic<bool> differs;         // in what threads it creates inherit from it in the kernel
  std::atomic<bool> policy_changed;  // by another thread (realtime.h)
  bool realtime;                     // and so left to the kernel
  bool cacheable;                    // created with attributes a later thread can share
  bool detached;
  int owned_mutexes;       // recursive and error-checking ones it holds
  int end_rounds;          // of on_thread_end
  Thread* joiner;          // whoever waits in join
  std::size_t stack_size;  // 0: default attributes, then guard_size is their generation
  std::size_t guard_size;
  ThreadIndex index;  // its record while managed
  std::int32_t tid;
  Inherited inherited;
  bool has_affinity_hint;
  CpuSet affinity_hint;
  Cached cached;
  std::atomic<bool> ends;   // it is to leave the cache and end
  std::uint32_t cached_in;  // a round of trimming
  Thread* next_cached;
  Thread* previous_cached;
  Thread* next_in_table;
};

inline Thread* this_thread() { return static_cast<Thread*>(self.thread); }

// Storage for the description of a thread, and the table of them by handle.
Thread* allocate_thread();
void free_thread(Thread*);
void register_thread(Thread*, pthread_t handle);
void reset_table(Thread* survivor);

// The process's threads by handle; null if libc alone knows it.
Thread* find_thread(pthread_t handle);
Thread* find_thread_by_tid(std::int32_t tid);
// Makes the first managed thread known. After fork only the caller is left.
void threads_start();
// Makes the calling thread, which create_thread did not start, known: its end is noticed from now
// on. A thread that libc did not make either (clone) has no destructors, and stays unknown.
void adopt_thread();
void threads_after_fork();

// The key whose destructor is on_thread_end.
pthread_key_t end_key();

// The calling thread's pending cancellation, and whether it may act on one now.
inline bool cancel_requested() {
  Thread* t = this_thread();
  if (!t) return self.cancelled.load(std::memory_order_relaxed);
  return t->cancel_requested.load(std::memory_order_relaxed) && !t->cancel_acted;
}
bool cancel_enabled();
// Acts on a pending cancellation: does not return if there is one and the thread is not ending yet.
void act_on_cancel();
inline void test_cancel() {
  if (__builtin_expect(cancel_requested(), 0) && cancel_enabled()) act_on_cancel();
}

// The calling thread did something that a fresh thread would not have (an alternate signal stack
// ...): it will not be reused.
inline void never_reuse_this_thread() {
  if (Thread* t = this_thread()) t->keep_out_of_cache.store(true, std::memory_order_relaxed);
}
// The thread has got what those it creates inherit (capabilities, a system call filter, scheduling
// class ...): neither it nor they are reused, and they are none that have been used.
inline void never_reuse_for(Thread* t) {
  if (!t) return;
  t->keep_out_of_cache.store(true, std::memory_order_relaxed);
  t->differs.store(true, std::memory_order_relaxed);
}
inline void never_reuse_for_this_thread() { never_reuse_for(this_thread()); }
void note_thread_name_set();

// What libc does when a thread ends, for one whose kernel thread lives on (thread_reset.cc).
void run_thread_destructors();
void reset_thread_storage();
void thread_images_after_fork();
bool can_reset_thread_storage();
bool holds_robust_mutex();

// The program's own threads that have not ended.
long program_threads();
void thread_started();
// Whether the calling thread was the last: it ends the process then (pthread_exit(3)), which the
// kernel threads in the cache and the keeper would keep alive.
bool thread_finished();
// The calling thread ends past libc (SYS_exit), which counts it among the living from then on.
// Whether it was the last.
bool thread_ends_past_libc();

}  // namespace roost

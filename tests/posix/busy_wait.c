// Threads that wait by spinning, more of them than cores, with nothing in the loop that the kernel
// or libc could see: barriers, flags, ticket locks, test-and-set locks, scans of slots.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "expect.h"

enum { THREADS = 6, ROUNDS = 40 };

static atomic_int arrived;
static atomic_long sense;
static long counter;

static void start_all(pthread_t* threads, void* (*body)(void*)) {
  for (long i = 0; i < THREADS; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, body, (void*)i), 0);
}

static void join_all(pthread_t* threads) {
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static void run_all(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  start_all(threads, body);
  join_all(threads);
}

// `body` counts each of its rounds under a lock.
static void run_all_counting(void* (*body)(void*)) {
  counter = 0;
  run_all(body);
  EXPECT_EQ(counter, THREADS * ROUNDS);
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// As in BLIS: the last to arrive turns the sense, the others wait for it.
__attribute__((noinline)) static void plain_barrier(void) {
  long before = atomic_load_explicit(&sense, memory_order_relaxed);
  if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
    atomic_store(&arrived, 0);
    atomic_fetch_xor(&sense, 1);
  } else {
    while (atomic_load_explicit(&sense, memory_order_acquire) == before) {
    }
  }
}

__attribute__((noinline)) static void pausing_barrier(void) {
  long before = atomic_load_explicit(&sense, memory_order_relaxed);
  if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
    atomic_store(&arrived, 0);
    atomic_fetch_xor(&sense, 1);
  } else {
    while (atomic_load_explicit(&sense, memory_order_acquire) == before) relax();
  }
}

static void* meet_plain(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) plain_barrier();
  return unused;
}

static void* meet_pausing(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) pausing_barrier();
  return unused;
}

CASE(spin_barriers_end) {
  run_all(meet_plain);
  run_all(meet_pausing);
}

static struct { atomic_uint next, serving; } ticket;

__attribute__((noinline)) static void lock_ticket(void) {
  unsigned mine = atomic_fetch_add(&ticket.next, 1);
  while (atomic_load_explicit(&ticket.serving, memory_order_acquire) != mine) relax();
}

static void* count_with_tickets(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    lock_ticket();
    ++counter;
    atomic_fetch_add_explicit(&ticket.serving, 1, memory_order_release);
  }
  return unused;
}

CASE(a_ticket_lock_is_passed_on) { run_all_counting(count_with_tickets); }

static atomic_int lock_word;

__attribute__((noinline)) static void lock_exchange(void) {
  while (atomic_exchange_explicit(&lock_word, 1, memory_order_acquire)) {
  }
}

__attribute__((noinline)) static void lock_compare(void) {
  int expected = 0;
  while (!atomic_compare_exchange_strong(&lock_word, &expected, 1)) expected = 0;
}

__attribute__((noinline)) static void lock_test_first(void) {
  do {
    while (atomic_load_explicit(&lock_word, memory_order_relaxed)) {
    }
  } while (atomic_exchange_explicit(&lock_word, 1, memory_order_acquire));
}

static void* count_with_locks(void* number) {
  for (int i = 0; i < ROUNDS; ++i) {
    switch (((long)number + i) % 3) {
      case 0:
        lock_exchange();
        break;
      case 1:
        lock_compare();
        break;
      default:
        lock_test_first();
    }
    ++counter;
    atomic_store_explicit(&lock_word, 0, memory_order_release);
  }
  return NULL;
}

CASE(spin_locks_exclude) { run_all_counting(count_with_locks); }

// Turn by turn: each waits for its own value of one word, of one byte, of one of two words.
static atomic_uchar turn;

__attribute__((noinline)) static void await_turn(unsigned char mine) {
  while (atomic_load_explicit(&turn, memory_order_acquire) != mine) {
  }
}

static void* take_turns(void* number) {
  for (int i = 0; i < ROUNDS; ++i) {
    await_turn((unsigned char)(long)number);
    atomic_store_explicit(&turn, (unsigned char)(((long)number + 1) % THREADS),
                          memory_order_release);
  }
  return NULL;
}

CASE(a_turn_goes_round) { run_all(take_turns); }

// As in OpenBLAS: round and round until one of some slots is free.
static struct { _Alignas(64) atomic_uintptr_t owner; } slots[3];
static volatile int n_slots = 3;

__attribute__((noinline)) static int find_free_slot(int from) {
  int i = from;
  while (atomic_load_explicit(&slots[i].owner, memory_order_acquire)) {
    ++i;
    if (i >= n_slots) i = 0;
  }
  return i;
}

static void* use_slots(void* number) {
  for (int i = 0; i < ROUNDS;) {
    int slot = find_free_slot((int)(long)number % 3);
    uintptr_t nobody = 0;
    if (!atomic_compare_exchange_strong(&slots[slot].owner, &nobody, (uintptr_t)number + 1))
      continue;
    ++i;
    sched_yield();
    atomic_store_explicit(&slots[slot].owner, 0, memory_order_release);
  }
  return NULL;
}

CASE(a_scan_of_slots_ends) { run_all(use_slots); }

// One finds what it waits for by a chain of pointers, as long as the main thread lets it wait.
struct node {
  struct node* next;
  atomic_int flag;
};
static struct node nodes[2];
static struct node* volatile head;

static void* wait_behind_pointers(void* unused) {
  while (!atomic_load_explicit(&head->next->flag, memory_order_acquire)) {
  }
  return unused;
}

CASE(a_word_behind_pointers_ends_it) {
  pthread_t threads[THREADS];
  nodes[0].next = &nodes[1];
  head = &nodes[0];
  start_all(threads, wait_behind_pointers);
  for (int i = 0; i < 3; ++i) relax();
  atomic_store_explicit(&nodes[1].flag, 1, memory_order_release);
  join_all(threads);
}

// What the loop holds in registers must be what it was before: a sum of doubles and of integers
// that are alive across a wait.
static atomic_int gate;

__attribute__((noinline)) static double keep_values_across_a_wait(int rounds) {
  double d[8];
  long n[6];
  for (int i = 0; i < 8; ++i) d[i] = i + 0.5;
  for (int i = 0; i < 6; ++i) n[i] = i + 1;
  for (int round = 0; round < rounds; ++round) {
    int before = atomic_load_explicit(&gate, memory_order_relaxed);
    for (int i = 0; i < 8; ++i) d[i] += 1;
    for (int i = 0; i < 6; ++i) n[i] += 1;
    while (atomic_load_explicit(&gate, memory_order_acquire) == before) {
    }
  }
  double sum = 0;
  for (int i = 0; i < 8; ++i) sum += d[i];
  for (int i = 0; i < 6; ++i) sum += (double)n[i];
  return sum;
}

static atomic_int keepers;

static void* keep_values(void* unused) {
  EXPECT(keep_values_across_a_wait(ROUNDS) == 32 + 8.0 * ROUNDS + 21 + 6.0 * ROUNDS);
  atomic_fetch_sub(&keepers, 1);
  return unused;
}

CASE(registers_survive_a_wait) {
  pthread_t threads[THREADS];
  atomic_store(&keepers, THREADS);
  start_all(threads, keep_values);
  while (atomic_load_explicit(&keepers, memory_order_acquire)) {
    atomic_fetch_add_explicit(&gate, 1, memory_order_release);
    for (int i = 0; i < 100; ++i) relax();
  }
  join_all(threads);
}

// As in thread pools: a worker looks for work so many times, with a back-off, before it sleeps.
enum { LOOKS = 3000, ITEMS = 200 };
static atomic_int posted, done, no_more;
static atomic_int gave_up;

static __attribute__((noinline)) int take_item(void) {
  int items = atomic_load_explicit(&posted, memory_order_acquire);
  return items > 0 && atomic_compare_exchange_strong(&posted, &items, items - 1);
}

static void* look_for_work(void* unused) {
  while (!atomic_load(&no_more)) {
    int looks = 0;
    for (unsigned pauses = 1; looks < LOOKS && !atomic_load(&no_more); ++looks) {
      if (take_item()) {
        atomic_fetch_add(&done, 1);
        break;
      }
      for (unsigned i = 0; i < pauses; ++i) relax();
      if (pauses < 16) pauses *= 2;
    }
    if (looks < LOOKS) continue;
    atomic_fetch_add(&gave_up, 1);
    usleep(1000);
  }
  return unused;
}

CASE(workers_look_for_work_before_they_sleep) {
  pthread_t threads[THREADS];
  start_all(threads, look_for_work);
  for (int i = 0; i < ITEMS; ++i) {
    atomic_fetch_add(&posted, 1);
    while (i % 2 && atomic_load_explicit(&done, memory_order_acquire) <= i) relax();
  }
  while (atomic_load_explicit(&done, memory_order_acquire) < ITEMS) relax();
  atomic_store(&no_more, 1);
  join_all(threads);
  EXPECT_EQ(posted, 0);
}

// One whose spin comes to its end does so beside others that never wait.
static void* compute_until_given_up(void* unused) {
  for (volatile long n = 0; !atomic_load_explicit(&gave_up, memory_order_relaxed);) n = n + 1;
  return unused;
}

CASE(a_spin_comes_to_its_end_beside_others_that_compute) {
  pthread_t threads[THREADS];
  atomic_store(&gave_up, 0);
  start_all(threads, compute_until_given_up);
  for (int looks = 0; looks < 100 * LOOKS && !take_item(); ++looks) relax();
  atomic_store(&gave_up, 1);
  join_all(threads);
}

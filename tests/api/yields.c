// roost_yield, and the questions a spinning runtime asks: who waits, and who runs next.
#include "api.h"

enum { THREADS = 3, ROUNDS = 4 };

static char trail[THREADS * ROUNDS + 1];
static atomic_int trail_length, blocked;
static shared_handle handles[THREADS];

static void* take_turns(void* letter) {
  int index = *(const char*)letter - 'A';
  atomic_store(&handles[index], roost_self());
  atomic_fetch_add(&blocked, 1);
  EXPECT_EQ(roost_block(), 0);
  for (int i = 0; i < ROUNDS; ++i) {
    trail[atomic_fetch_add(&trail_length, 1)] = *(const char*)letter;
    EXPECT(roost_yield() >= 0);
  }
  return NULL;
}

static void start_blocked(pthread_t* threads) {
  static const char letters[] = "ABC";
  atomic_store(&blocked, 0);
  atomic_store(&trail_length, 0);
  memset(trail, 0, sizeof trail);
  for (int i = 0; i < THREADS; ++i) threads[i] = start_thread(take_turns, (void*)&letters[i]);
  // On one core: whoever raised the count has left the core since, so it blocks.
  wait_for(&blocked, THREADS);
}

CASE(threads_run_in_the_order_in_which_they_became_ready) {
  if (!on_one_core()) SKIP("needs one core");
  pthread_t threads[THREADS];
  start_blocked(threads);
  EXPECT_EQ(roost_unblock(handles[2]), 0);
  EXPECT_EQ(roost_unblock(handles[0]), 0);
  EXPECT_EQ(roost_unblock(handles[1]), 0);
  EXPECT_EQ(atomic_load(&trail_length), 0);  // unblocking gives no core away
  EXPECT_EQ(roost_yield(), 1);
  for (int i = 0; i < THREADS; ++i) join_thread(threads[i]);
  EXPECT_EQ(strcmp(trail, "CABCABCABCAB"), 0);
}

CASE(the_caller_of_a_yield_queues_behind_those_who_are_ready) {
  if (!on_one_core()) SKIP("needs one core");
  pthread_t threads[THREADS];
  start_blocked(threads);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(roost_unblock(handles[i]), 0);
  for (int round = 1; round <= ROUNDS; ++round) {
    EXPECT_EQ(roost_yield(), 1);
    EXPECT_EQ(atomic_load(&trail_length), round * THREADS);
  }
  for (int i = 0; i < THREADS; ++i) join_thread(threads[i]);
}

CASE(a_pass_point_gives_the_core_away_once_the_caller_has_had_it_for_some_time) {
  if (!on_one_core()) SKIP("needs one core");
  EXPECT_EQ(roost_pass_point(), 0);  // nobody waits
  pthread_t threads[THREADS];
  start_blocked(threads);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(roost_unblock(handles[i]), 0);
  while (roost_pass_point() == 0) EXPECT_EQ(atomic_load(&trail_length), 0);
  EXPECT(atomic_load(&trail_length) > 0);
  for (int i = 0; i < THREADS; ++i) join_thread(threads[i]);
}

CASE(a_yield_says_that_nobody_waits) {
  if (!on_one_core()) SKIP("needs one core");
  EXPECT_EQ(roost_yield(), 0);
  EXPECT_EQ(roost_others_wait(), 0);
}

CASE(who_waits_is_counted) {
  if (!on_one_core()) SKIP("needs one core");
  struct roost_state state;
  pthread_t threads[THREADS];
  start_blocked(threads);
  EXPECT_EQ(roost_others_wait(), 0);
  for (int i = 0; i < THREADS; ++i) {
    EXPECT_EQ(roost_unblock(handles[i]), 0);
    EXPECT_EQ(roost_others_wait(), 1);
    EXPECT_EQ(roost_state(&state), 0);
    EXPECT_EQ(state.ready_threads, i + 1);
  }
  EXPECT_EQ(state.cores, 1);
  EXPECT_EQ(state.idle_cores, 0);
  for (int i = 0; i < THREADS; ++i) join_thread(threads[i]);
  EXPECT_EQ(roost_state(&state), 0);
  EXPECT_EQ(state.ready_threads, 0);
}

static atomic_int arrived, generation;

static void* spin_at_barrier(void* data) {
  enum { PARTIES = 5 };
  (void)data;
  for (int round = 0; round < 200; ++round) {
    int now = atomic_load(&generation);
    if (atomic_fetch_add(&arrived, 1) == PARTIES - 1) {
      atomic_store(&arrived, 0);
      atomic_fetch_add(&generation, 1);
      continue;
    }
    while (atomic_load(&generation) == now) {
      if (roost_others_wait()) roost_yield();
    }
  }
  return NULL;
}

// USF section 4.4: without the yield this would hang with fewer cores than threads.
CASE(a_spinning_barrier_that_yields_to_others_passes_on_any_number_of_cores) {
  pthread_t threads[5];
  for (int i = 0; i < 5; ++i) threads[i] = start_thread(spin_at_barrier, NULL);
  for (int i = 0; i < 5; ++i) join_thread(threads[i]);
}

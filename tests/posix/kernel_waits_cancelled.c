// Cancellation of threads that wait in the kernel, while they wait and before; and of those in
// calls that are no cancellation points.
#include "kernel_waits.h"

static pid_t blocker;
static int cleaned;

static void note_cleanup(void* unused) {
  (void)unused;
  ++cleaned;
}

static void* wait_there(void* row) {
  const struct wait* w = row;
  pthread_cleanup_push(note_cleanup, NULL);
  about_to_block(&blocker);
  long result = w->call();
  // glibc since 2.41 sends its signal here, too, which ends some waits.
  while (!w->is_cancellation_point && w->on_signal == ENDS && result == -1 && errno == EINTR)
    result = w->call();
  EXPECT_EQ(result, w->result);
  pthread_cleanup_pop(0);
  return NULL;
}

static void* cancelled_before(void* row) {
  const struct wait* w = row;
  pthread_cleanup_push(note_cleanup, NULL);
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  long result = w->call();
  // Only where the call is no cancellation point.
  EXPECT_EQ(result, w->result);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cleanup_pop(0);
  return NULL;
}

static void expect_outcome(const struct wait* w, int cancelled) {
  void* result = NULL;
  EXPECT_EQ(pthread_join(waiting_thread, &result), 0);
  EXPECT_EQ(result == PTHREAD_CANCELED, cancelled);
  EXPECT_EQ(cleaned, cancelled);
  cleaned = 0;
  w->remove();
  if (path[0] == '/' && path[1] == 't') unlink(path);
}

CASE(a_waiting_thread_is_cancelled_at_a_cancellation_point) {
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    if (!w->is_cancellation_point) continue;
    w->make();
    EXPECT_EQ(pthread_create(&waiting_thread, NULL, wait_there, (void*)w), 0);
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(waiting_thread), 0);
    expect_outcome(w, 1);
  }
}

CASE(elsewhere_it_waits_on) {
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    if (w->is_cancellation_point) continue;
    w->make();
    EXPECT_EQ(pthread_create(&waiting_thread, NULL, wait_there, (void*)w), 0);
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(waiting_thread), 0);
    w->satisfy();
    expect_outcome(w, 0);
  }
}

CASE(a_pending_request_acts_though_the_call_need_not_wait) {
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    if (w->satisfy == signal_it) continue;  // there is no thread yet to send it to
    w->make();
    w->satisfy();
    EXPECT_EQ(pthread_create(&waiting_thread, NULL, cancelled_before, (void*)w), 0);
    expect_outcome(w, w->is_cancellation_point);
  }
}

CASE(cancelled_at_any_moment) {
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < WAITS; ++i) {
      const struct wait* w = &waits[i];
      if (!w->is_cancellation_point) continue;
      w->make();
      EXPECT_EQ(pthread_create(&waiting_thread, NULL, wait_there, (void*)w), 0);
      for (int yields = 0; yields < round % 4; ++yields) sched_yield();
      EXPECT_EQ(pthread_cancel(waiting_thread), 0);
      expect_outcome(w, 1);
    }
  }
}

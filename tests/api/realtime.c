// Threads under a real-time policy are left to the kernel, and come back.
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "api.h"

static const struct sched_param kLow = {.sched_priority = 1}, kNone = {.sched_priority = 0};

// Whether this user may; the thread has the policy then.
static int become_realtime(int policy) { return sched_setscheduler(0, policy, &kLow) == 0; }
static void become_usual(void) { EXPECT_EQ(sched_setscheduler(0, SCHED_OTHER, &kNone), 0); }

static void* report(void* data) {
  *(int*)data = roost_self() != ROOST_NO_THREAD;
  return NULL;
}
static int new_thread_is_attached(const pthread_attr_t* attributes) {
  int attached = -1;
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, attributes, report, &attached), 0);
  join_thread(thread);
  return attached;
}

CASE(its_own_call_takes_a_thread_out_and_back) {
  if (!become_realtime(SCHED_FIFO)) SKIP("no real-time policies for this user");
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  EXPECT_EQ(roost_core(), -1);
  EXPECT(become_realtime(SCHED_RR));
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  become_usual();
  EXPECT(roost_self() != ROOST_NO_THREAD);
  EXPECT(roost_core() >= 0);
  EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &kLow), 0);
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  EXPECT_EQ(pthread_setschedparam(pthread_self(), SCHED_OTHER, &kNone), 0);
  EXPECT(roost_self() != ROOST_NO_THREAD);
}

// As in linux/sched/types.h, in its first form.
struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};
typedef int set_attributes(pid_t thread, struct attributes* wanted, unsigned flags);

CASE(attributes_of_scheduling_take_a_thread_out_and_back) {
  set_attributes* set = (set_attributes*)dlsym(RTLD_DEFAULT, "sched_setattr");  // glibc 2.41's
  EXPECT(set);
  if (!become_realtime(SCHED_FIFO)) SKIP("no real-time policies for this user");
  become_usual();
  struct attributes wanted = {.size = sizeof wanted, .policy = SCHED_FIFO, .priority = 1};
  EXPECT_EQ(set(0, &wanted, 0), 0);
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  wanted.policy = SCHED_OTHER;
  EXPECT_ERRNO(set(0, &wanted, 0), EINVAL);
  wanted.priority = 0;
  EXPECT_EQ(set(0, &wanted, 0), 0);
  EXPECT(roost_self() != ROOST_NO_THREAD);
}

CASE(other_policies_change_nothing) {
  EXPECT_EQ(sched_setscheduler(0, SCHED_BATCH, &kNone), 0);
  EXPECT(roost_self() != ROOST_NO_THREAD);
  become_usual();
  EXPECT(roost_self() != ROOST_NO_THREAD);
  EXPECT_ERRNO(sched_setscheduler(0, SCHED_FIFO, &kNone), EINVAL);
  EXPECT(roost_self() != ROOST_NO_THREAD);
}

CASE(new_threads_have_it_from_their_creator_or_their_attributes) {
  if (!become_realtime(SCHED_FIFO)) SKIP("no real-time policies for this user");
  EXPECT_EQ(new_thread_is_attached(NULL), 0);
  become_usual();
  EXPECT_EQ(new_thread_is_attached(NULL), 1);
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED), 0);
  EXPECT_EQ(pthread_attr_setschedpolicy(&attributes, SCHED_RR), 0);
  EXPECT_EQ(pthread_attr_setschedparam(&attributes, &kLow), 0);
  EXPECT_EQ(new_thread_is_attached(&attributes), 0);
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
  EXPECT_EQ(new_thread_is_attached(NULL), 1);
}

CASE(children_have_it_from_their_parent) {
  if (!become_realtime(SCHED_FIFO)) SKIP("no real-time policies for this user");
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) _exit(roost_self() != ROOST_NO_THREAD);
    int status;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, i << 8);
    if (i == 0) become_usual();
  }
}

// It is on the only core when it is told, and leaves at its next wait in the kernel.
static atomic_int phase;
static void* be_told(void* data) {
  (void)data;
  atomic_store(&phase, 1);
  wait_for(&phase, 2);
  usleep(1);
  EXPECT_EQ(roost_self(), ROOST_NO_THREAD);
  atomic_store(&phase, 3);
  wait_for(&phase, 4);
  usleep(1);
  return NULL;
}
CASE(another_threads_call_takes_effect_at_the_next_wait) {
  if (!become_realtime(SCHED_FIFO)) SKIP("no real-time policies for this user");
  become_usual();
  atomic_store(&phase, 0);
  pthread_t thread = start_thread(be_told, NULL);
  wait_for(&phase, 1);
  EXPECT_EQ(pthread_setschedparam(thread, SCHED_FIFO, &kLow), 0);
  atomic_store(&phase, 2);
  wait_for(&phase, 3);
  EXPECT_EQ(pthread_setschedparam(thread, SCHED_OTHER, &kNone), 0);
  atomic_store(&phase, 4);
  join_thread(thread);
}

// Between both kinds libc's objects work as ever.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;
enum { kTurns = 2000 };
static void* take_turns(void* data) {
  int own = *(int*)data;
  if (own == 1) become_realtime(SCHED_RR);
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < kTurns; ++i) {
    while (turn % 2 != own) pthread_cond_wait(&turn_changed, &mutex);
    ++turn;
    pthread_cond_broadcast(&turn_changed);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}
CASE(both_kinds_take_turns) {
  int numbers[2] = {0, 1};
  pthread_t threads[2];
  turn = 0;
  for (int i = 0; i < 2; ++i) threads[i] = start_thread(take_turns, &numbers[i]);
  for (int i = 0; i < 2; ++i) join_thread(threads[i]);
  EXPECT_EQ(turn, 2 * kTurns);
}

// Every way to ask for the number of CPUs agrees, in every thread and in child processes.
//
// Only where CPU_COUNTS_AGREE is set: a plain process that is confined to some of the CPUs gets
// different answers from glibc itself, depending on whom it asks.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "child.h"
#include "expect.h"

static long count;

static void expect_all_agree(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT(sysconf(_SC_NPROCESSORS_ONLN) >= 1);
  EXPECT(sysconf(_SC_NPROCESSORS_CONF) >= sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(get_nprocs(), sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(get_nprocs_conf(), sysconf(_SC_NPROCESSORS_CONF));
  EXPECT(CPU_COUNT(&set) <= sysconf(_SC_NPROCESSORS_ONLN));
  if (getenv("CPU_COUNTS_AGREE")) EXPECT_EQ(CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN));
  if (count) EXPECT_EQ(sysconf(_SC_NPROCESSORS_ONLN), count);
}

static void* agree(void* unused) {
  expect_all_agree();
  return unused;
}

CASE(all_ways_to_ask_agree) {
  expect_all_agree();
  count = sysconf(_SC_NPROCESSORS_ONLN);
}

CASE(in_threads_as_well) {
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, agree, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

CASE(in_forked_children_as_well) { EXPECT_EQ(outcome_in_child(expect_all_agree), 0); }

ROLE(count_again) { dprintf(1, "%ld", sysconf(_SC_NPROCESSORS_ONLN)); }

CASE(after_exec_as_well) {
  char text[16];
  EXPECT_EQ(outcome_and_output("@count_again", text, sizeof text), 0);
  EXPECT_EQ(atol(text), sysconf(_SC_NPROCESSORS_ONLN));
}

CASE(other_names_of_sysconf_are_untouched) {
  EXPECT_EQ(sysconf(_SC_PAGESIZE), getpagesize());
  EXPECT_EQ(sysconf(_SC_CLK_TCK), 100);
  EXPECT(sysconf(_SC_THREADS) > 0);
  EXPECT(sysconf(_SC_PHYS_PAGES) > 0);
  errno = 0;
  EXPECT_EQ(sysconf(-1), -1);
  EXPECT_EQ(errno, EINVAL);
}

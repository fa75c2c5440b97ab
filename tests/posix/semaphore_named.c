// Named semaphores: creation and its errors, one object for one name, use between processes, and
// life after the name is gone.
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdlib.h>

#include "child.h"
#include "expect.h"

static char name[64];

static sem_t* create(unsigned value) {
  snprintf(name, sizeof name, "/posix-test-%d", getpid());
  sem_unlink(name);  // of an earlier run that was killed
  sem_t* sem = sem_open(name, O_CREAT | O_EXCL, 0600, value);
  EXPECT(sem != SEM_FAILED);
  return sem;
}

static void end(sem_t* sem) {
  EXPECT_EQ(sem_unlink(name), 0);
  EXPECT_EQ(sem_close(sem), 0);
}

static int value(sem_t* sem) {
  int tokens = -1;
  EXPECT_EQ(sem_getvalue(sem, &tokens), 0);
  return tokens;
}

static void expect_open_error(const char* wanted, int flags, int error) {
  errno = 0;
  EXPECT(sem_open(wanted, flags, 0600, 0) == SEM_FAILED);
  EXPECT_EQ(errno, error);
}

CASE(a_name_is_one_object) {
  sem_t* sem = create(2);
  sem_t* again = sem_open(name, 0);
  EXPECT(again == sem);
  EXPECT(sem_open(name, O_CREAT, 0600, 9) == sem);  // exists: the value is not used
  EXPECT_EQ(value(sem), 2);
  EXPECT_EQ(sem_wait(again), 0);
  EXPECT_EQ(value(sem), 1);
  EXPECT_EQ(sem_close(again), 0);
  EXPECT_EQ(sem_close(again), 0);
  EXPECT_EQ(value(sem), 1);
  end(sem);
}

CASE(errors_of_creation) {
  sem_t* sem = create(0);
  expect_open_error(name, O_CREAT | O_EXCL, EEXIST);
  end(sem);
  expect_open_error(name, 0, ENOENT);
  EXPECT_ERRNO(sem_unlink(name), ENOENT);
  expect_open_error("/", O_CREAT, EINVAL);
  errno = 0;
  EXPECT(sem_open(name, O_CREAT, 0600, (unsigned)SEM_VALUE_MAX + 1) == SEM_FAILED);
  EXPECT_EQ(errno, EINVAL);
}

CASE(it_lives_on_without_its_name) {
  sem_t* sem = create(0);
  EXPECT_EQ(sem_unlink(name), 0);
  expect_open_error(name, 0, ENOENT);
  EXPECT_EQ(sem_post(sem), 0);
  EXPECT_EQ(sem_wait(sem), 0);
  sem_t* other = sem_open(name, O_CREAT | O_EXCL, 0600, 5);
  EXPECT(other != SEM_FAILED && other != sem);
  EXPECT_EQ(value(other), 5);
  EXPECT_EQ(value(sem), 0);
  end(other);
  EXPECT_EQ(sem_close(sem), 0);
}

enum { ROUNDS = 500 };
static sem_t* inherited;

static void wait_inherited(void) {
  for (int i = 0; i < ROUNDS; ++i) EXPECT_EQ(sem_wait(inherited), 0);
}

CASE(forked_children_share_it) {
  inherited = create(0);
  pid_t child = fork_child(wait_inherited);
  for (int i = 0; i < ROUNDS; ++i) EXPECT_EQ(sem_post(inherited), 0);
  EXPECT_EQ(outcome_of(child), 0);
  EXPECT_EQ(value(inherited), 0);
  end(inherited);
}

ROLE(answer) {
  char back[80];
  const char* there = getenv("POSIX_TEST_SEM");
  snprintf(back, sizeof back, "%s-back", there);
  sem_t* sem = sem_open(there, 0);
  sem_t* answer = sem_open(back, 0);
  EXPECT(sem != SEM_FAILED && answer != SEM_FAILED);
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(sem_wait(sem), 0);
    EXPECT_EQ(sem_post(answer), 0);
  }
}

CASE(unrelated_processes_meet_by_the_name) {
  char back[80];
  sem_t* sem = create(0);
  snprintf(back, sizeof back, "%s-back", name);
  sem_unlink(back);
  sem_t* answer = sem_open(back, O_CREAT | O_EXCL, 0600, 0);
  EXPECT(answer != SEM_FAILED);
  EXPECT_EQ(setenv("POSIX_TEST_SEM", name, 1), 0);
  pid_t child = start_role("@answer", -1);
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(sem_post(sem), 0);
    EXPECT_EQ(sem_wait(answer), 0);
  }
  EXPECT_EQ(outcome_of(child), 0);
  EXPECT_EQ(sem_unlink(back), 0);
  EXPECT_EQ(sem_close(answer), 0);
  end(sem);
}

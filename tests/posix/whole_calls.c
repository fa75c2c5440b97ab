// Long system calls beside threads that compute: whatever their core is wanted for meanwhile, their
// results are whole. (A signal would end each of them with a part.)
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "child.h"
#include "deadline.h"
#include "expect.h"
#include "inline_syscall.h"

#define MUCH ((size_t)64 << 20)
#define RANDOM (MUCH / 8)

static char* buffer;
static int zero, randoms;
static atomic_int over;

static void* compute(void* unused) {
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    for (volatile int i = 0; i < 1000; ++i) {
    }
  }
  return unused;
}

// Waits for the end by looking at it, and so is asked for its core more often.
static void* spin(void* unused) {
  while (!atomic_load_explicit(&over, memory_order_relaxed)) continue;
  return unused;
}

static void beside_threads_that(void* (*body)(void*), void (*calls)(void)) {
  pthread_t others[4];
  buffer = malloc(MUCH);
  zero = open("/dev/zero", O_RDONLY);
  randoms = open("/dev/urandom", O_RDONLY);
  EXPECT(buffer && zero >= 0 && randoms >= 0);
  over = 0;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_create(&others[i], NULL, body, NULL), 0);
  for (int round = 0; round < 2; ++round) calls();
  over = 1;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_join(others[i], NULL), 0);
  close(zero);
  close(randoms);
  free(buffer);
}

static void beside_others(void (*calls)(void)) { beside_threads_that(compute, calls); }

static void read_much(void) {
  struct iovec parts[2] = {{buffer, MUCH / 2}, {buffer + MUCH / 2, MUCH / 2}};
  EXPECT_EQ(read(zero, buffer, MUCH), MUCH);
  EXPECT_EQ(pread(zero, buffer, MUCH, 0), MUCH);
  EXPECT_EQ(readv(zero, parts, 2), MUCH);
  EXPECT_EQ(preadv(zero, parts, 2, 0), MUCH);
  EXPECT_EQ(preadv2(zero, parts, 2, 0, 0), MUCH);
  EXPECT_EQ(read(randoms, buffer, RANDOM), RANDOM);
  EXPECT_EQ(getrandom(buffer, RANDOM, 0), RANDOM);
  EXPECT_EQ(getrandom(buffer, RANDOM, GRND_NONBLOCK), RANDOM);
}
CASE(reading_much) { beside_others(read_much); }

static void read_much_by_number(void) {
  EXPECT_EQ(syscall(SYS_read, zero, buffer, MUCH), MUCH);
  EXPECT_EQ(syscall(SYS_pread64, zero, buffer, MUCH, 0), MUCH);
  EXPECT_EQ(syscall(SYS_getrandom, buffer, RANDOM, 0), RANDOM);
}
CASE(by_number) { beside_others(read_much_by_number); }

static void copy_much(void) {
  int from = memfd_create("from", 0), to = memfd_create("to", 0),
      null = open("/dev/null", O_WRONLY);
  off_t from_at = 0, to_at = 0;
  EXPECT_EQ(posix_fallocate(from, 0, (off_t)MUCH), 0);
  EXPECT_EQ(fallocate(to, 0, 0, (off_t)MUCH), 0);
  EXPECT_EQ(sendfile(null, from, &from_at, MUCH), MUCH);
  from_at = 0;
  EXPECT_EQ(copy_file_range(from, &from_at, to, &to_at, MUCH, 0), MUCH);
  close(from);
  close(to);
  close(null);
}
CASE(copying_much) { beside_others(copy_much); }

#define MESSAGE (1 << 20)
static void* read_all(void* end) {
  static char part[10000];
  for (size_t left = MESSAGE; left > 0;) {
    ssize_t got = read((int)(intptr_t)end, part, sizeof part);
    EXPECT(got > 0);
    left -= (size_t)got;
  }
  return NULL;
}
static void send_much(void) {
  for (int i = 0; i < 10; ++i) {
    int ends[2];
    pthread_t reader;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    EXPECT_EQ(pthread_create(&reader, NULL, read_all, (void*)(intptr_t)ends[0]), 0);
    struct iovec parts[2] = {{buffer, MESSAGE / 2}, {buffer + MESSAGE / 2, MESSAGE / 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = i % 2 ? sendmsg(ends[1], &message, 0) : writev(ends[1], parts, 2);
    EXPECT_EQ(sent, MESSAGE);
    EXPECT_EQ(pthread_join(reader, NULL), 0);
    close(ends[0]);
    close(ends[1]);
  }
}
CASE(sending_much) { beside_others(send_much); }

// Looks that do not wait: a signal would end them with EINTR.
static void look_often(void) {
  struct pollfd nothing = {zero, 0, 0};
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  struct timespec at_once = {0, 0};
  for (int i = 0; i < 30000; ++i) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    nothing.fd = ends[0];
    EXPECT_EQ(poll(&nothing, 1, 0), 0);
    EXPECT_EQ(ppoll(&nothing, 1, &at_once, NULL), 0);
    EXPECT_EQ(select(ends[0] + 1, &set, NULL, NULL, &(struct timeval){0, 0}), 0);
    FD_SET(ends[0], &set);
    EXPECT_EQ(pselect(ends[0] + 1, &set, NULL, NULL, &at_once, NULL), 0);
    EXPECT_EQ(syscall(SYS_ppoll, &nothing, 1, &at_once, NULL, 8), 0);
  }
  close(ends[0]);
  close(ends[1]);
}
CASE(looking_often) { beside_others(look_often); }

// So long that the core may be wanted right before, in and right after the next call.
static void compute_before(int call) {
  struct timespec now = now_on(CLOCK_MONOTONIC), until = now;
  until.tv_nsec += (call % 7 + 1) * 20000;
  if (until.tv_nsec >= 1000000000) {
    ++until.tv_sec;
    until.tv_nsec -= 1000000000;
  }
  while (!has_passed(CLOCK_MONOTONIC, until)) {
  }
}

static int semaphores;
static void take_at_once(void) {
  struct sembuf take = {0, -1, 0}, take_at_once = {0, -1, IPC_NOWAIT};
  struct timespec at_once = {0, 0};
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  EXPECT(semaphores >= 0);
  for (int i = 0; i < 1500; ++i) {
    compute_before(i);
    if (i % 8) {
      EXPECT_ERRNO(semtimedop(semaphores, &take, 1, &at_once), EAGAIN);
    } else {
      EXPECT_ERRNO(semop(semaphores, &take_at_once, 1), EAGAIN);
    }
  }
  EXPECT_EQ(semctl(semaphores, 0, IPC_RMID), 0);
}
CASE(semaphores_that_are_not_waited_for) { beside_threads_that(spin, take_at_once); }

enum { TAKES = 1000 };
static void give_all(void) {
  struct sembuf give = {0, 1, 0};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int given = 0; given < TAKES;) {
    usleep(100);
    if (semctl(semaphores, 0, GETVAL) != 0) continue;
    EXPECT_EQ(semop(semaphores, &give, 1), 0);
    ++given;
  }
}
static void take_when_given(void) {
  struct sembuf take = {0, -1, 0};
  struct timespec long_time = {300, 0};
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  EXPECT(semaphores >= 0);
  pid_t giver = fork_child(give_all);
  for (int i = 0; i < TAKES; ++i) {
    compute_before(i);
    int taken = i % 2 ? semop(semaphores, &take, 1) : semtimedop(semaphores, &take, 1, &long_time);
    EXPECT_EQ(taken ? errno : 0, 0);
  }
  EXPECT_EQ(outcome_of(giver), 0);
  EXPECT_EQ(semctl(semaphores, 0, IPC_RMID), 0);
}
CASE(semaphores_that_are_waited_for) { beside_threads_that(spin, take_when_given); }

// Where inline calls are trapped.
static void read_much_inline(void) {
  EXPECT_EQ(INLINE(SYS_read, zero, buffer, MUCH), MUCH);
  EXPECT_EQ(INLINE(SYS_getrandom, buffer, RANDOM, 0), RANDOM);
}
ROLE(inline) { beside_others(read_much_inline); }

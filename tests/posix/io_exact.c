// Reading, writing and polling to the letter: timeouts, O_NONBLOCK, errors, partial transfers, and
// descriptors whose number or nature changes.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

enum { PAGE = 4096, MUCH = 1 << 20 };
static int ends[2];
static char buffer[MUCH];

static void open_pipe(void) { EXPECT_EQ(pipe(ends), 0); }
static void open_pair(int type) { EXPECT_EQ(socketpair(AF_UNIX, type, 0, ends), 0); }
static void close_both(void) {
  close(ends[0]);
  close(ends[1]);
}

CASE(timeouts_end_the_wait) {
  open_pipe();
  struct timespec time = {0, 2000000}, at;
  struct pollfd fd = {ends[0], POLLIN, 77};
  at = in_ms(CLOCK_MONOTONIC, 2);
  EXPECT_EQ(poll(&fd, 1, 2), 0);
  EXPECT(has_passed(CLOCK_MONOTONIC, at));
  EXPECT_EQ(fd.revents, 0);
  at = in_ms(CLOCK_MONOTONIC, 2);
  EXPECT_EQ(ppoll(&fd, 1, &time, NULL), 0);
  EXPECT(has_passed(CLOCK_MONOTONIC, at));
  EXPECT_EQ(time.tv_nsec, 2000000);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  struct timeval left = {0, 2000};
  EXPECT_EQ(select(ends[0] + 1, &set, NULL, NULL, &left), 0);
  EXPECT(!FD_ISSET(ends[0], &set));
  EXPECT_EQ(left.tv_sec, 0);
  EXPECT_EQ(left.tv_usec, 0);
  FD_SET(ends[0], &set);
  EXPECT_EQ(pselect(ends[0] + 1, &set, NULL, NULL, &time, NULL), 0);
  struct epoll_event event = {.events = EPOLLIN};
  int epoll = epoll_create1(0);
  EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 2), 0);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  EXPECT_EQ(poll(NULL, 0, 2), 0);
  EXPECT_EQ(select(0, NULL, NULL, NULL, &(struct timeval){0, 2000}), 0);
  close(epoll);
  close_both();
  open_pair(SOCK_STREAM);
  EXPECT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, 2000}, 16), 0);
  for (int i = 0; i < 12; ++i) EXPECT_ERRNO(recv(ends[0], buffer, 1, 0), EAGAIN);
  close_both();
}

CASE(nonblocking_descriptors_never_wait) {
  for (int how = 0; how < 3; ++how) {
    open_pair(SOCK_STREAM);
    EXPECT_EQ(write(ends[1], "abc", 3), 3);
    EXPECT_EQ(read(ends[0], buffer, 1), 1);  // while it still may wait
    int on = 1;
    if (how == 0) EXPECT_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    if (how == 1) EXPECT_EQ(ioctl(ends[0], FIONBIO, &on), 0);
    int flags = how == 2 ? MSG_DONTWAIT : 0;
    EXPECT_EQ(recv(ends[0], buffer, 10, flags), 2);
    for (int i = 0; i < 20; ++i) EXPECT_ERRNO(recv(ends[0], buffer, 1, flags), EAGAIN);
    if (how < 2) EXPECT_ERRNO(read(ends[0], buffer, 1), EAGAIN);
    close_both();
  }
}

// Not before the reader waits: the kernel leaves one asleep that has taken less than the mark.
static pid_t reader;
static void* write_slowly(void* text) {
  wait_until_blocked(&reader);
  for (const char* c = text; *c; ++c) {
    usleep(1000);
    EXPECT_EQ(write(ends[1], c, 1), 1);
  }
  return NULL;
}

static void forbid_waiting(int fd) { EXPECT_EQ(fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK), 0); }
CASE(another_number_may_have_forbidden_to_wait) {
  for (int by_child = 0; by_child < 2; ++by_child) {
    open_pipe();
    EXPECT_EQ(write(ends[1], "a", 1), 1);  // while it still may wait
    EXPECT_EQ(read(ends[0], buffer, 1), 1);
    int other = dup(ends[1]);
    if (by_child) {
      int status;
      pid_t child = fork();
      if (child == 0) {
        forbid_waiting(other);
        _exit(0);
      }
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    } else {
      forbid_waiting(other);
    }
    ssize_t written = write(ends[1], buffer, MUCH);
    EXPECT(written > 0 && written < MUCH);
    EXPECT_ERRNO(write(ends[1], buffer, MUCH), EAGAIN);
    struct iovec parts[2] = {{buffer, MUCH / 2}, {buffer + MUCH / 2, MUCH / 2}};
    EXPECT_EQ(read(ends[0], buffer, PAGE), PAGE);
    EXPECT_EQ(writev(ends[1], parts, 2), PAGE);
    close(other);
    close_both();
  }
}

CASE(a_low_water_mark_is_waited_for) {
  open_pair(SOCK_STREAM);
  int tcp = socket(AF_INET, SOCK_STREAM, 0), mark = 4;
  EXPECT(tcp >= 0);
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  EXPECT_EQ(listen(tcp, 1), 0);
  EXPECT_EQ(getsockname(tcp, (struct sockaddr*)&address, &length), 0);
  close_both();
  ends[1] = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(ends[1], (struct sockaddr*)&address, length), 0);
  ends[0] = accept(tcp, NULL, NULL);
  EXPECT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, write_slowly, "abcd"), 0);
  about_to_block(&reader);
  EXPECT_EQ(recv(ends[0], buffer, 100, 0), 4);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  close(tcp);
  close_both();
}

static void* read_all(void* total) {
  size_t got = 0;
  static char part[10000];
  while (got < (size_t)total) {
    ssize_t n = read(ends[0], part, sizeof part);
    EXPECT(n > 0);
    for (ssize_t i = 0; i < n; ++i) EXPECT_EQ(part[i], (char)((got + (size_t)i) / 7));
    got += (size_t)n;
  }
  return NULL;
}

static void number_the_buffer(void) {
  for (int i = 0; i < MUCH; ++i) buffer[i] = (char)(i / 7);
}

CASE(a_write_waits_until_all_is_taken) {
  number_the_buffer();
  for (int kind = 0; kind < 6; ++kind) {
    pthread_t thread;
    if (kind < 3) open_pipe();
    if (kind >= 3) open_pair(SOCK_STREAM);
    EXPECT_EQ(pthread_create(&thread, NULL, read_all, (void*)(size_t)MUCH), 0);
    struct iovec parts[40];
    for (int i = 0; i < 40; ++i) parts[i] = (struct iovec){buffer + i * 20000, 20000};
    parts[39].iov_len = MUCH - 39 * 20000;
    if (kind % 3 == 0) EXPECT_EQ(write(ends[1], buffer, MUCH), MUCH);
    if (kind % 3 == 1) EXPECT_EQ(writev(ends[1], parts, 40), MUCH);
    if (kind == 2) {
      for (int i = 0; i < MUCH; i += 512) EXPECT_EQ(write(ends[1], buffer + i, 512), 512);
    }
    if (kind == 5) {
      struct msghdr message = {.msg_iov = parts, .msg_iovlen = 40};
      EXPECT_EQ(sendmsg(ends[1], &message, 0), MUCH);
    }
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    close_both();
  }
}

static void count(int signal) { (void)signal; }
static void* interrupt_writer(void* writer) {
  int taken;
  do {
    usleep(1000);
    EXPECT_EQ(ioctl(ends[0], FIONREAD, &taken), 0);
  } while (taken < PAGE);
  usleep(5000);
  EXPECT_EQ(pthread_kill(*(pthread_t*)writer, SIGUSR1), 0);
  return writer;
}
// However the signal's action is set: what was taken is a result.
CASE(a_signal_ends_a_write_that_was_taken_in_part) {
  for (int vectors = 0; vectors < 2; ++vectors) {
    for (int restarts = 0; restarts < 2; ++restarts) {
      struct sigaction action = {.sa_handler = count, .sa_flags = restarts ? SA_RESTART : 0};
      EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
      open_pipe();
      pthread_t self = pthread_self(), other;
      EXPECT_EQ(pthread_create(&other, NULL, interrupt_writer, &self), 0);
      struct iovec parts[2] = {{buffer, MUCH / 2}, {buffer + MUCH / 2, MUCH / 2}};
      ssize_t written = vectors ? writev(ends[1], parts, 2) : write(ends[1], buffer, MUCH);
      EXPECT(written >= PAGE && written < MUCH);
      EXPECT_EQ(pthread_join(other, NULL), 0);
      int taken;
      EXPECT_EQ(ioctl(ends[0], FIONREAD, &taken), 0);
      EXPECT_EQ(taken, written);
      close_both();
    }
  }
}

CASE(a_read_takes_what_is_there) {
  open_pipe();
  EXPECT_EQ(write(ends[1], "abcdef", 6), 6);
  EXPECT_EQ(read(ends[0], buffer, 4), 4);
  EXPECT_EQ(read(ends[0], buffer, 4), 2);
  EXPECT_EQ(read(ends[0], buffer, 0), 0);
  close(ends[1]);
  EXPECT_EQ(read(ends[0], buffer, 4), 0);
  close(ends[0]);
  open_pair(SOCK_DGRAM);
  EXPECT_EQ(send(ends[1], "abcdef", 6, 0), 6);
  EXPECT_EQ(read(ends[0], buffer, 0), 0);  // leaves it where it is
  struct iovec none = {buffer, 0};
  EXPECT_EQ(readv(ends[0], &none, 1), 0);
  EXPECT_EQ(read(ends[0], buffer, 100), 6);
  EXPECT_EQ(send(ends[1], "", 0, 0), 0);
  EXPECT_EQ(recv(ends[0], buffer, 100, 0), 0);
  close_both();
}

static int broken_pipes;
static void count_sigpipe(int number) {
  (void)number;
  ++broken_pipes;
}

CASE(errors_are_the_kernels) {
  char* bad = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(bad != MAP_FAILED);
  struct timespec malformed_time = {0, 1000000000};
  open_pipe();
  EXPECT_EQ(write(ends[1], "abc", 3), 3);
  EXPECT_ERRNO(read(ends[0], bad, 1), EFAULT);
  EXPECT_ERRNO(write(ends[1], bad, 1), EFAULT);
  EXPECT_ERRNO(readv(ends[0], (struct iovec*)bad, 1), EFAULT);
  EXPECT_ERRNO(writev(ends[1], (struct iovec*)bad, 1), EFAULT);
  EXPECT_ERRNO(read(ends[1], buffer, 1), EBADF);
  EXPECT_ERRNO(write(ends[0], buffer, 1), EBADF);
  EXPECT_ERRNO(poll((struct pollfd*)bad, 1, -1), EFAULT);
  EXPECT_ERRNO(select(ends[0] + 1, (fd_set*)bad, NULL, NULL, NULL), EFAULT);
  EXPECT_ERRNO(ppoll(NULL, 0, &malformed_time, NULL), EINVAL);
  EXPECT_ERRNO(select(-1, NULL, NULL, NULL, NULL), EINVAL);
  int events = epoll_create1(0), semaphore = semget(IPC_PRIVATE, 1, 0600);
  struct sembuf take = {0, -1, 0};
  EXPECT_ERRNO(epoll_pwait2(events, (struct epoll_event*)buffer, 1, (struct timespec*)bad, NULL),
               EFAULT);
  EXPECT_ERRNO(semtimedop(semaphore, &take, 1, (struct timespec*)bad), EFAULT);
  EXPECT_EQ(semctl(semaphore, 0, IPC_RMID), 0);
  close(events);
  EXPECT_ERRNO(epoll_wait(ends[0], (struct epoll_event*)buffer, 1, -1), EINVAL);
  EXPECT_ERRNO(recv(ends[0], buffer, 1, 0), ENOTSOCK);
  EXPECT_ERRNO(send(ends[1], buffer, 1, 0), ENOTSOCK);
  EXPECT_ERRNO(accept(ends[0], NULL, NULL), ENOTSOCK);
  EXPECT_ERRNO(open(bad, O_RDONLY), EFAULT);
  EXPECT_EQ(read(ends[0], buffer, 10), 3);
  signal(SIGPIPE, count_sigpipe);
  close(ends[0]);
  EXPECT_ERRNO(write(ends[1], "x", 1), EPIPE);
  EXPECT_EQ(broken_pipes, 1);
  close(ends[1]);
  int gone = ends[1];
  EXPECT_ERRNO(read(gone, buffer, 1), EBADF);
  EXPECT_ERRNO(write(gone, buffer, 1), EBADF);
  EXPECT_ERRNO(recv(gone, buffer, 1, 0), EBADF);
  EXPECT_ERRNO(close(gone), EBADF);
  EXPECT_ERRNO(fsync(gone), EBADF);
  open_pair(SOCK_STREAM);
  EXPECT_ERRNO(recv(ends[0], bad, 1, MSG_DONTWAIT), EAGAIN);
  EXPECT_EQ(send(ends[1], "ab", 2, 0), 2);
  EXPECT_ERRNO(recv(ends[0], bad, 1, 0), EFAULT);
  EXPECT_ERRNO(recvmsg(ends[0], (struct msghdr*)bad, 0), EFAULT);
  EXPECT_ERRNO(sendmsg(ends[0], (struct msghdr*)bad, 0), EFAULT);
  close(ends[1]);
  EXPECT_ERRNO(send(ends[0], "x", 1, 0), EPIPE);
  EXPECT_EQ(broken_pipes, 2);
  EXPECT_ERRNO(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE);
  EXPECT_EQ(broken_pipes, 2);
  close(ends[0]);
  signal(SIGPIPE, SIG_DFL);
  munmap(bad, PAGE);
}

CASE(errno_is_left_alone) {
  open_pipe();
  struct pollfd fd = {ends[0], POLLIN, 0};
  errno = 4711;
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(poll(&fd, 1, -1), 1);
  EXPECT_EQ(read(ends[0], buffer, 1), 1);
  EXPECT_EQ(poll(&fd, 1, 1), 0);
  EXPECT_EQ(errno, 4711);
  close_both();
}

static void* feed(void* fd) {
  usleep(500);
  EXPECT_EQ(write((int)(long)fd, "z", 1), 1);
  return NULL;
}

// The number of a descriptor says nothing of what it is the next time.
CASE(a_number_may_become_anything) {
  for (int round = 0; round < 12; ++round) {
    int file = open("/proc/self/exe", O_RDONLY);
    EXPECT(file >= 0);
    EXPECT_EQ(read(file, buffer, 1), 1);
    int other[2];
    if (round % 2) EXPECT_EQ(pipe(other), 0);
    if (round % 2 == 0) EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    switch (round % 3) {
      case 0:
        EXPECT_EQ(dup2(other[0], file), file);
        break;
      case 1:
        close(file);
        EXPECT_EQ(fcntl(other[0], F_DUPFD, file), file);
        break;
      case 2:
        syscall(SYS_close, file);
        EXPECT_EQ(syscall(SYS_dup, other[0]), file);
        break;
    }
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, feed, (void*)(long)other[1]), 0);
    EXPECT_EQ(read(file, buffer, 10), 1);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    close(other[0]);
    close(other[1]);
    close(file);
  }
}

static pthread_once_t once = PTHREAD_ONCE_INIT, child_once = PTHREAD_ONCE_INIT;
static int initialised;
static void initialise_slowly(void) {
  usleep(2000);
  ++initialised;
}
static void* use_it(void* unused) {
  EXPECT_EQ(pthread_once(&once, initialise_slowly), 0);
  EXPECT_EQ(initialised, 1);
  return unused;
}

CASE(once_is_waited_for) {
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, use_it, NULL), 0);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(initialised, 1);
}

static int runs;
static void fork_within(void) {
  ++runs;
  if (runs > 1) return;
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    // Whoever ran it is not in this process: it is run again.
    EXPECT_EQ(pthread_once(&child_once, fork_within), 0);
    _exit(runs == 2 ? 0 : 3);
  }
  int status;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

CASE(once_is_run_again_in_a_child_that_lost_its_runner) {
  EXPECT_EQ(pthread_once(&child_once, fork_within), 0);
  EXPECT_EQ(runs, 1);
}

CASE(commands_are_waited_for) {
  EXPECT(system(NULL) != 0);
  EXPECT_EQ(system("exit 7"), 7 << 8);
  FILE* in = popen("sleep 0.01; echo hello", "r");
  EXPECT(in != NULL);
  EXPECT(fgets(buffer, sizeof buffer, in) != NULL);
  EXPECT_EQ(strcmp(buffer, "hello\n"), 0);
  EXPECT_EQ(pclose(in), 0);
}

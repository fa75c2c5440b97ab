// Waits for what is read from descriptors or written to them, and for locks of files: how each is
// set up, made and ended.
#pragma once

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "expect.h"

// What the setup made. `waiter` is the end that waits, `peer` the one that ends the wait.
static int waiter = -1, peer = -1, third = -1;
static char big[1 << 20];
static char path[64];

static void close_all(void) {
  int* fds[] = {&waiter, &peer, &third};
  for (int i = 0; i < 3; ++i) {
    if (*fds[i] >= 0) close(*fds[i]);
    *fds[i] = -1;
  }
}

static void make_pipe(void) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  waiter = ends[0];
  peer = ends[1];
}
static void fill(int fd) {
  int flags = fcntl(fd, F_GETFL);
  EXPECT_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
  while (write(fd, big, sizeof big) > 0) {
  }
  while (write(fd, big, 1) > 0) {
  }
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(fcntl(fd, F_SETFL, flags), 0);
}
static void make_full_pipe(void) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  waiter = ends[1];
  peer = ends[0];
  fill(waiter);
}
static void make_pair(int type) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, type, 0, ends), 0);
  waiter = ends[0];
  peer = ends[1];
}
static void make_stream(void) { make_pair(SOCK_STREAM); }
static void make_datagram(void) { make_pair(SOCK_DGRAM); }
static void make_full_stream(void) {
  make_pair(SOCK_STREAM);
  fill(waiter);
}
static void put_byte(void) { EXPECT_EQ(write(peer, "x", 1), 1); }
static void put_two(void) {
  put_byte();
  sched_yield();
  put_byte();
}
static void drain(void) {
  for (size_t got = 0; got < 512 * 1024;) {
    ssize_t n = recv(peer, big, sizeof big, MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK) {
      int flags = fcntl(peer, F_GETFL);
      EXPECT_EQ(fcntl(peer, F_SETFL, flags | O_NONBLOCK), 0);
      n = read(peer, big, sizeof big);
      EXPECT_EQ(fcntl(peer, F_SETFL, flags), 0);
    }
    if (n <= 0) return;
    got += (size_t)n;
  }
}

static long do_read(void) { return read(waiter, big, 10); }
static long do_readv(void) {
  struct iovec parts[2] = {{big, 1}, {big + 8, 8}};
  return readv(waiter, parts, 2);
}
static long do_preadv2(void) {
  struct iovec parts[2] = {{big, 1}, {big + 8, 8}};
  return preadv2(waiter, parts, 2, -1, 0);
}
static long do_pwritev2(void) {
  struct iovec parts[2] = {{big, 1}, {big + 8, 1}};
  return pwritev2(waiter, parts, 2, -1, 0);
}
static long do_recv(void) { return recv(waiter, big, 10, 0); }
static long do_recv_all(void) { return recv(waiter, big, 2, MSG_WAITALL); }
static long do_recvfrom(void) {
  struct sockaddr_un from;
  socklen_t length = sizeof from;
  return recvfrom(waiter, big, 10, 0, (struct sockaddr*)&from, &length);
}
static long do_recvmsg(void) {
  struct iovec part = {big, 10};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return recvmsg(waiter, &message, 0);
}
static long do_recvmmsg(void) {
  struct iovec parts[2] = {{big, 10}, {big + 16, 10}};
  struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                                {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
  return recvmmsg(waiter, messages, 2, 0, NULL);
}
static long do_write(void) { return write(waiter, "y", 1); }
static long do_writev(void) {
  struct iovec parts[2] = {{big, 1}, {big + 8, 1}};
  return writev(waiter, parts, 2);
}
static long do_send(void) { return send(waiter, "y", 1, 0); }
static long do_sendto(void) { return sendto(waiter, "y", 1, 0, NULL, 0); }
static long do_sendmsg(void) {
  struct iovec part = {big, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return sendmsg(waiter, &message, 0);
}
static long do_sendmmsg(void) {
  struct iovec part = {big, 1};
  struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
  return sendmmsg(waiter, &message, 1, 0);
}

static void make_splice(void) {
  make_pipe();
  third = open("/dev/null", O_WRONLY);
  EXPECT(third >= 0);
}
static long do_splice(void) { return splice(waiter, NULL, third, NULL, 10, 0); }
static long do_vmsplice(void) {
  struct iovec part = {big, 1};
  return vmsplice(waiter, &part, 1, 0);
}
static void make_sendfile(void) {
  make_full_stream();
  third = open("/proc/self/exe", O_RDONLY);
  EXPECT(third >= 0);
}
static long do_sendfile(void) { return sendfile(waiter, third, NULL, 1); }

static long do_poll(void) {
  struct pollfd fd = {waiter, POLLIN, 0};
  long result = poll(&fd, 1, -1);
  if (result == 1) EXPECT_EQ(fd.revents, POLLIN);
  return result;
}
static long do_ppoll(void) {
  struct pollfd fd = {waiter, POLLIN, 0};
  struct timespec time = {300, 0};
  return ppoll(&fd, 1, &time, NULL);
}
static long do_select(void) {
  fd_set set;
  struct timeval time = {300, 0};
  FD_ZERO(&set);
  FD_SET(waiter, &set);
  long result = select(waiter + 1, &set, NULL, NULL, &time);
  if (result == 1) EXPECT(FD_ISSET(waiter, &set));
  return result;
}
static long do_pselect(void) {
  fd_set set, none;
  FD_ZERO(&set);
  FD_ZERO(&none);
  FD_SET(waiter, &set);
  return pselect(waiter + 1, &set, &none, NULL, NULL, NULL);
}
static void make_epoll(void) {
  make_pipe();
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = 4711};
  third = epoll_create1(EPOLL_CLOEXEC);
  EXPECT_EQ(epoll_ctl(third, EPOLL_CTL_ADD, waiter, &event), 0);
}
static long do_epoll_wait(void) {
  struct epoll_event event = {0};
  long result = epoll_wait(third, &event, 1, -1);
  if (result == 1) EXPECT_EQ(event.data.fd, 4711);
  return result;
}
static long do_epoll_pwait(void) {
  struct epoll_event events[4];
  return epoll_pwait(third, events, 4, 300000, NULL);
}

static long do_epoll_pwait2(void) {
  struct epoll_event event;
  struct timespec time = {300, 0};
  return syscall(SYS_epoll_pwait2, third, &event, 1, &time, NULL, 0);
}

// Libc has no functions for these.
static aio_context_t aio;
static void make_aio(void) {
  make_pipe();
  aio = 0;
  EXPECT_EQ(syscall(SYS_io_setup, 4, &aio), 0);
  static struct iocb request, *requests[1] = {&request};
  memset(&request, 0, sizeof request);
  request.aio_fildes = (uint32_t)waiter;
  request.aio_lio_opcode = IOCB_CMD_POLL;
  request.aio_buf = POLLIN;
  EXPECT_EQ(syscall(SYS_io_submit, aio, 1, requests), 1);
}
static long do_io_getevents(void) {
  struct io_event event;
  return syscall(SYS_io_getevents, aio, 1, 1, &event, NULL);
}
static void close_aio(void) {
  syscall(SYS_io_destroy, aio);
  close_all();
}
static void make_uring(void) {
  static struct io_uring_params ring;
  memset(&ring, 0, sizeof ring);
  make_pipe();
  third = (int)syscall(SYS_io_uring_setup, 2, &ring);
  EXPECT(third >= 0);
  size_t bytes = ring.sq_off.array + ring.sq_entries * sizeof(unsigned);
  int access = PROT_READ | PROT_WRITE;
  char* queue = mmap(NULL, bytes, access, MAP_SHARED, third, IORING_OFF_SQ_RING);
  struct io_uring_sqe* entry =
      mmap(NULL, ring.sq_entries * sizeof *entry, access, MAP_SHARED, third, IORING_OFF_SQES);
  EXPECT(queue != MAP_FAILED && entry != MAP_FAILED);
  memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_READ;
  entry->fd = waiter;
  entry->addr = (uintptr_t)big;
  entry->len = 1;
  *(unsigned*)(queue + ring.sq_off.array) = 0;
  __atomic_store_n((unsigned*)(queue + ring.sq_off.tail), 1, __ATOMIC_RELEASE);
  EXPECT_EQ(syscall(SYS_io_uring_enter, third, 1, 0, 0, NULL, 0), 1);
  munmap(entry, ring.sq_entries * sizeof *entry);
  munmap(queue, bytes);
}
static long do_uring(void) {
  return syscall(SYS_io_uring_enter, third, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static void make_event(void) { waiter = eventfd(0, 0), peer = dup(waiter); }
static long do_eventfd_read(void) {
  eventfd_t value = 0;
  int result = eventfd_read(waiter, &value);
  return result == 0 ? (long)value : result;
}
// The count is as large as it can be.
static void make_full_event(void) {
  make_event();
  EXPECT_EQ(eventfd_write(waiter, UINT64_MAX - 1), 0);
}
static long do_event_write(void) {
  uint64_t value = 1;
  return write(waiter, &value, sizeof value);
}
static void take_event(void) {
  eventfd_t value;
  EXPECT_EQ(eventfd_read(peer, &value), 0);
}
static void put_event(void) { EXPECT_EQ(eventfd_write(peer, 7), 0); }

static void make_timer(void) { waiter = timerfd_create(CLOCK_MONOTONIC, 0), peer = dup(waiter); }
static void ring(void) {
  struct itimerspec at = {.it_value = {0, 1}};
  EXPECT_EQ(timerfd_settime(peer, 0, &at, NULL), 0);
}

static struct sockaddr_un address;
static void make_listener(void) {
  static int number;
  address.sun_family = AF_UNIX;  // abstract: no file to remove
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "kernel-waits-%d-%d", getpid(),
           ++number);
  waiter = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(bind(waiter, (struct sockaddr*)&address, sizeof address), 0);
  EXPECT_EQ(listen(waiter, 0), 0);
}
static void connect_to_it(void) {
  peer = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(connect(peer, (struct sockaddr*)&address, sizeof address), 0);
}
static long accepted(int fd) {
  if (fd < 0) return -1;
  close(fd);
  return 1;
}
static long do_accept(void) { return accepted(accept(waiter, NULL, NULL)); }
static long do_accept4(void) { return accepted(accept4(waiter, NULL, NULL, SOCK_CLOEXEC)); }
static void make_full_listener(void) {
  make_listener();
  connect_to_it();  // a backlog of 0 holds one
  third = waiter;
  waiter = socket(AF_UNIX, SOCK_STREAM, 0);
}
static long do_connect(void) { return connect(waiter, (struct sockaddr*)&address, sizeof address); }
static void accept_one(void) { EXPECT_EQ(accepted(accept(third, NULL, NULL)), 1); }

static void make_file(void) {
  snprintf(path, sizeof path, "/tmp/kernel-waits-XXXXXX");
  waiter = mkstemp(path);
  EXPECT(waiter >= 0);
  EXPECT_EQ(write(waiter, big, 100), 100);
  peer = open(path, O_RDWR | O_CLOEXEC);
  unlink(path);
}
static void make_flocked(void) {
  make_file();
  EXPECT_EQ(flock(peer, LOCK_EX), 0);
}
static long do_flock(void) { return flock(waiter, LOCK_SH); }
static void unlock_flock(void) { EXPECT_EQ(flock(peer, LOCK_UN), 0); }
static struct flock whole(short type) {
  return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}
static void make_locked(void) {
  make_file();
  struct flock lock = whole(F_WRLCK);
  EXPECT_EQ(fcntl(peer, F_OFD_SETLK, &lock), 0);
}
static long do_ofd_lock(void) {
  struct flock lock = whole(F_RDLCK);
  return fcntl(waiter, F_OFD_SETLKW, &lock);
}
static long do_lock(void) {
  struct flock lock = whole(F_WRLCK);
  return fcntl(waiter, F_SETLKW, &lock);
}
static long do_lockf(void) { return lseek(waiter, 0, SEEK_SET) ? -2 : lockf(waiter, F_LOCK, 50); }
static void unlock_file(void) {
  struct flock lock = whole(F_UNLCK);
  EXPECT_EQ(fcntl(peer, F_OFD_SETLK, &lock), 0);
}

static void make_fifo(void) {
  static int number;
  snprintf(path, sizeof path, "/tmp/kernel-waits-%d-%d", getpid(), ++number);
  EXPECT_EQ(mkfifo(path, 0600), 0);
}
static long opened(int fd) {
  unlink(path);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}
static long do_open_fifo(void) { return opened(open(path, O_RDONLY)); }
static long do_openat_fifo(void) {
  return opened(openat(AT_FDCWD, path, O_WRONLY | O_CREAT, 0600));
}
static long do_creat_fifo(void) { return opened(creat(path, 0600)); }
static void open_other_end(void) {
  // Both directions at once never wait.
  while ((peer = open(path, O_RDWR)) < 0 && errno == EINTR) {
  }
}

// Streams, which wait in calls that libc makes itself.
static FILE* stream;
static void make_input(void) {
  make_pipe();
  stream = fdopen(waiter, "r");
}
static long do_getc(void) { return getc(stream); }
static void make_full_output(void) {
  make_full_pipe();
  stream = fdopen(waiter, "w");
  setvbuf(stream, NULL, _IONBF, 0);
}
static long do_fwrite(void) { return fwrite("y", 1, 1, stream) == 1 ? 1 : -1; }
static void close_stream(void) {
  EXPECT_EQ(fcntl(waiter, F_SETFL, O_NONBLOCK), 0);  // what it still holds is not waited for
  fclose(stream);
  waiter = -1;
  close_all();
}
static long do_fopen_fifo(void) {
  FILE* file = fopen(path, "re");
  unlink(path);
  return file ? fclose(file) : -1;
}

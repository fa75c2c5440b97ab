// Every way to wait in the kernel, as a table: how to set it up, the call that waits, what another
// thread does to end the wait, and what the call then returns.
#pragma once

#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"
#include "kernel_waits_files.h"

static struct {
  long type;
  char text[8];
} message = {1, "hello"};
static int queue;
static void make_queue(void) {
  queue = msgget(IPC_PRIVATE, 0600);
  EXPECT(queue >= 0);
}
static void remove_queue(void) { EXPECT_EQ(msgctl(queue, IPC_RMID, NULL), 0); }
static long do_msgrcv(void) { return msgrcv(queue, &message, 8, 1, 0); }
static void put_message(void) {
  message.type = 1;
  EXPECT_EQ(msgsnd(queue, &message, 5, 0), 0);
}
static void make_full_queue(void) {
  make_queue();
  struct msqid_ds limits;
  EXPECT_EQ(msgctl(queue, IPC_STAT, &limits), 0);
  limits.msg_qbytes = 8;
  EXPECT_EQ(msgctl(queue, IPC_SET, &limits), 0);
  message.type = 1;
  EXPECT_EQ(msgsnd(queue, &message, 8, IPC_NOWAIT), 0);
}
static long do_msgsnd(void) {
  message.type = 1;
  return msgsnd(queue, &message, 8, 0);
}
static void take_message(void) {
  char text[64];
  EXPECT_EQ(msgrcv(queue, text, 8, 0, IPC_NOWAIT), 8);
}

static int semaphores;
static struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
static void make_semaphore(void) {
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  EXPECT(semaphores >= 0);
}
static void remove_semaphore(void) { EXPECT_EQ(semctl(semaphores, 0, IPC_RMID), 0); }
static long do_semop(void) { return semop(semaphores, &down, 1); }
static long do_semtimedop(void) {
  struct timespec time = {300, 0};
  return semtimedop(semaphores, &down, 1, &time);
}
static void raise_semaphore(void) { EXPECT_EQ(semop(semaphores, &up, 1), 0); }

static mqd_t mq;
static void make_mq(void) {
  static int number;
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
  snprintf(path, sizeof path, "/kernel-waits-%d-%d", getpid(), ++number);
  mq = mq_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  EXPECT(mq != (mqd_t)-1);
  mq_unlink(path);
}
static void close_mq(void) { mq_close(mq); }
static long do_mq_receive(void) { return mq_receive(mq, big, 8, NULL); }
static long do_mq_timedreceive(void) {
  struct timespec at = far_off(CLOCK_REALTIME);
  return mq_timedreceive(mq, big, 8, NULL, &at);
}
static void put_mq(void) { EXPECT_EQ(mq_send(mq, "hello", 5, 1), 0); }
static void make_full_mq(void) {
  make_mq();
  put_mq();
}
static long do_mq_send(void) { return mq_send(mq, "again", 5, 0); }
static void take_mq(void) { EXPECT_EQ(mq_receive(mq, big, 8, NULL), 5); }

static pthread_t waiting_thread;
static sigset_t only_usr2(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return set;
}
static void signal_it(void) { EXPECT_EQ(pthread_kill(waiting_thread, SIGUSR2), 0); }
static long do_sigwait(void) {
  sigset_t set = only_usr2();
  int number = 0;
  int error = sigwait(&set, &number);
  return error ? -error : number;
}
static long do_sigwaitinfo(void) {
  sigset_t set = only_usr2();
  siginfo_t info;
  long result = sigwaitinfo(&set, &info);
  if (result >= 0) EXPECT_EQ(info.si_signo, SIGUSR2);
  return result;
}
static long do_sigtimedwait(void) {
  sigset_t set = only_usr2();
  struct timespec time = {300, 0};
  return sigtimedwait(&set, NULL, &time);
}
static void nothing(void) {}

// A child that ends once it is told to.
static pid_t child;
static void make_child(void) {
  make_pipe();
  child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    char byte;
    close(peer);
    _exit(read(waiter, &byte, 1) == 1 ? 3 : 4);
  }
}
// Also one that nobody has waited for.
static void end_child(void) {
  put_byte();
  pid_t ended = waitpid(child, NULL, 0);
  EXPECT(ended == child || (ended == -1 && errno == ECHILD));
  close_all();
}
static int child_status;
static long expect_child(pid_t ended) {
  if (ended != child) return ended;
  EXPECT(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 3);
  return 1;
}
static long do_wait(void) { return expect_child(wait(&child_status)); }
static long do_waitpid(void) { return expect_child(waitpid(child, &child_status, 0)); }
static long do_wait3(void) {
  struct rusage usage;
  return expect_child(wait3(&child_status, 0, &usage));
}
static long do_wait4(void) { return expect_child(wait4(child, &child_status, 0, NULL)); }
static long do_waitid(void) {
  siginfo_t info;
  long result = waitid(P_PID, (id_t)child, &info, WEXITED);
  if (result == 0) EXPECT(info.si_pid == child && info.si_status == 3);
  return result;
}

// How a handler without SA_RESTART, and one with it, ends the call.
enum handler { RESTARTS, ENDS, GOES_ON };

static const struct wait {
  const char* name;
  void (*make)(void);
  long (*call)(void);
  void (*satisfy)(void);
  void (*remove)(void);
  long result;
  enum handler on_signal;
  int is_cancellation_point;
} waits[] = {
    {"read from a pipe", make_pipe, do_read, put_byte, close_all, 1, RESTARTS, 1},
    {"read from a socket", make_stream, do_read, put_byte, close_all, 1, RESTARTS, 1},
    {"read from a timer", make_timer, do_read, ring, close_all, 8, RESTARTS, 1},
    {"readv from a pipe", make_pipe, do_readv, put_byte, close_all, 1, RESTARTS, 1},
    {"readv from a socket", make_stream, do_readv, put_byte, close_all, 1, RESTARTS, 1},
    {"preadv2 from a pipe", make_pipe, do_preadv2, put_byte, close_all, 1, RESTARTS, 1},
    {"pwritev2 to a pipe", make_full_pipe, do_pwritev2, drain, close_all, 2, RESTARTS, 1},
    {"recv", make_stream, do_recv, put_byte, close_all, 1, RESTARTS, 1},
    {"recv with MSG_WAITALL", make_stream, do_recv_all, put_two, close_all, 2, RESTARTS, 1},
    {"recvfrom", make_datagram, do_recvfrom, put_byte, close_all, 1, RESTARTS, 1},
    {"recvmsg", make_datagram, do_recvmsg, put_byte, close_all, 1, RESTARTS, 1},
    {"recvmmsg", make_datagram, do_recvmmsg, put_two, close_all, 2, RESTARTS, 1},
    {"write to a pipe", make_full_pipe, do_write, drain, close_all, 1, RESTARTS, 1},
    {"writev to a pipe", make_full_pipe, do_writev, drain, close_all, 2, RESTARTS, 1},
    {"write to a socket", make_full_stream, do_write, drain, close_all, 1, RESTARTS, 1},
    {"writev to a socket", make_full_stream, do_writev, drain, close_all, 2, RESTARTS, 1},
    {"send", make_full_stream, do_send, drain, close_all, 1, RESTARTS, 1},
    {"sendto", make_full_stream, do_sendto, drain, close_all, 1, RESTARTS, 1},
    {"sendmsg", make_full_stream, do_sendmsg, drain, close_all, 1, RESTARTS, 1},
    {"sendmmsg", make_full_stream, do_sendmmsg, drain, close_all, 1, RESTARTS, 1},
    {"poll", make_pipe, do_poll, put_byte, close_all, 1, ENDS, 1},
    {"ppoll", make_pipe, do_ppoll, put_byte, close_all, 1, ENDS, 1},
    {"select", make_pipe, do_select, put_byte, close_all, 1, ENDS, 1},
    {"pselect", make_pipe, do_pselect, put_byte, close_all, 1, ENDS, 1},
    {"epoll_wait", make_epoll, do_epoll_wait, put_byte, close_all, 1, ENDS, 1},
    {"epoll_pwait", make_epoll, do_epoll_pwait, put_byte, close_all, 1, ENDS, 1},
    {"epoll_pwait2", make_epoll, do_epoll_pwait2, put_byte, close_all, 1, ENDS, 0},
    {"io_getevents", make_aio, do_io_getevents, put_byte, close_aio, 1, ENDS, 0},
    {"io_uring_enter", make_uring, do_uring, put_byte, close_all, 0, ENDS, 0},
    {"write to an eventfd", make_full_event, do_event_write, take_event, close_all, 8, RESTARTS, 1},
    {"eventfd_read", make_event, do_eventfd_read, put_event, close_all, 7, RESTARTS, 1},
    {"accept", make_listener, do_accept, connect_to_it, close_all, 1, RESTARTS, 1},
    {"accept4", make_listener, do_accept4, connect_to_it, close_all, 1, RESTARTS, 1},
    {"connect", make_full_listener, do_connect, accept_one, close_all, 0, RESTARTS, 1},
    {"flock", make_flocked, do_flock, unlock_flock, close_all, 0, RESTARTS, 0},
    {"fcntl F_SETLKW", make_locked, do_lock, unlock_file, close_all, 0, RESTARTS, 1},
    {"fcntl F_OFD_SETLKW", make_locked, do_ofd_lock, unlock_file, close_all, 0, RESTARTS, 1},
    {"lockf", make_locked, do_lockf, unlock_file, close_all, 0, RESTARTS, 1},
    {"splice", make_splice, do_splice, put_byte, close_all, 1, RESTARTS, 1},
    {"vmsplice", make_full_pipe, do_vmsplice, drain, close_all, 1, RESTARTS, 1},
    {"sendfile", make_sendfile, do_sendfile, drain, close_all, 1, RESTARTS, 0},
    {"open of a FIFO", make_fifo, do_open_fifo, open_other_end, close_all, 0, RESTARTS, 1},
    {"openat of a FIFO", make_fifo, do_openat_fifo, open_other_end, close_all, 0, RESTARTS, 1},
    {"creat of a FIFO", make_fifo, do_creat_fifo, open_other_end, close_all, 0, RESTARTS, 1},
    {"getc", make_input, do_getc, put_byte, close_stream, 'x', RESTARTS, 1},
    {"fwrite", make_full_output, do_fwrite, drain, close_stream, 1, RESTARTS, 1},
    {"fopen of a FIFO", make_fifo, do_fopen_fifo, open_other_end, close_all, 0, RESTARTS, 1},
    {"msgrcv", make_queue, do_msgrcv, put_message, remove_queue, 5, ENDS, 1},
    {"msgsnd", make_full_queue, do_msgsnd, take_message, remove_queue, 0, ENDS, 1},
    {"semop", make_semaphore, do_semop, raise_semaphore, remove_semaphore, 0, ENDS, 0},
    {"semtimedop", make_semaphore, do_semtimedop, raise_semaphore, remove_semaphore, 0, ENDS, 0},
    {"mq_receive", make_mq, do_mq_receive, put_mq, close_mq, 5, RESTARTS, 1},
    {"mq_timedreceive", make_mq, do_mq_timedreceive, put_mq, close_mq, 5, RESTARTS, 1},
    {"mq_send", make_full_mq, do_mq_send, take_mq, close_mq, 0, RESTARTS, 1},
    {"sigwait", nothing, do_sigwait, signal_it, nothing, SIGUSR2, GOES_ON, 1},
    {"sigwaitinfo", nothing, do_sigwaitinfo, signal_it, nothing, SIGUSR2, ENDS, 1},
    {"sigtimedwait", nothing, do_sigtimedwait, signal_it, nothing, SIGUSR2, ENDS, 1},
    {"wait", make_child, do_wait, put_byte, end_child, 1, RESTARTS, 1},
    {"waitpid", make_child, do_waitpid, put_byte, end_child, 1, RESTARTS, 1},
    {"wait3", make_child, do_wait3, put_byte, end_child, 1, RESTARTS, 1},
    {"wait4", make_child, do_wait4, put_byte, end_child, 1, RESTARTS, 1},
    {"waitid", make_child, do_waitid, put_byte, end_child, 0, RESTARTS, 1},
};
enum { WAITS = sizeof waits / sizeof *waits };

// Names the row before it is looked at: a failure says which one it was.
__attribute__((unused)) static const struct wait* row(int i) {
  dprintf(1, "  %s\n", waits[i].name);
  return &waits[i];
}

// SIGUSR2 is what sigwait and its kind wait for: blocked everywhere.
__attribute__((constructor)) static void block_usr2(void) {
  sigset_t set = only_usr2();
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

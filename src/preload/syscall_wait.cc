// Which system calls may wait.
#include "preload/syscall_wait.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "preload/descriptor.h"

namespace roost {
namespace {

constexpr unsigned kUringGetEvents = 1;  // linux/io_uring.h

// Pointers of the program are not followed: whether they are valid is the kernel's to say. A zero
// timeout behind one gives the core away for nothing.
bool reading_may_wait(long fd) { return may_wait(static_cast<int>(fd), POLLIN); }
bool receiving_may_wait(long fd, long flags) {
  return !(flags & (MSG_DONTWAIT | MSG_ERRQUEUE)) && (flags & MSG_WAITALL || reading_may_wait(fd));
}
bool sending_may_wait_on(long fd, long bytes, long flags = 0) {
  return !(flags & MSG_DONTWAIT) &&
         sending_may_wait(static_cast<int>(fd), static_cast<std::size_t>(bytes));
}

}  // namespace

bool syscall_may_wait(long number, const SyscallArguments& x) {
  switch (number) {
    case SYS_futex_waitv:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
#if defined(__x86_64__)
    case SYS_pause:
#endif
      return true;
    case SYS_read:
    case SYS_readv:
    case SYS_accept:
    case SYS_accept4:
      return reading_may_wait(x.a);
    case SYS_write:
    case SYS_sendto:
      return sending_may_wait_on(x.a, x.c, number == SYS_write ? 0 : x.d);
    case SYS_writev:
      return sending_may_wait(static_cast<int>(x.a));
    case SYS_sendmsg:
      return !(x.c & MSG_DONTWAIT) && sending_may_wait(static_cast<int>(x.a));
    case SYS_sendmmsg:
      return !(x.d & MSG_DONTWAIT) && sending_may_wait(static_cast<int>(x.a));
    case SYS_recvfrom:
    case SYS_recvmmsg:
      return receiving_may_wait(x.a, x.d);
    case SYS_recvmsg:
      return receiving_may_wait(x.a, x.c);
    case SYS_connect:
      return kind_of(static_cast<int>(x.a)) != Kind::instant;
#if defined(__x86_64__)
    case SYS_poll:
      return static_cast<int>(x.c) != 0;
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
      return static_cast<int>(x.d) != 0;
#if defined(__x86_64__)
    case SYS_select:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait2:
      return true;
    case SYS_wait4:
      return !(x.c & WNOHANG);
    case SYS_waitid:
      return !(x.d & WNOHANG);
    case SYS_flock:
      return !(x.b & (LOCK_NB | LOCK_UN));
    case SYS_fcntl:
      return x.b == F_SETLKW || x.b == F_OFD_SETLKW;
    case SYS_msgsnd:
      return !(x.d & IPC_NOWAIT);
    case SYS_msgrcv:
      return !(x.e & IPC_NOWAIT);
    case SYS_io_getevents:
    case SYS_io_pgetevents:
      return x.b > 0;
    case SYS_io_uring_enter:
      return x.c > 0 && x.d & kUringGetEvents;
    default:
      return false;
  }
}

bool syscall_may_end_early(long number) {
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range:
    case SYS_getrandom:
    case SYS_fallocate:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_bpf:
#if defined(__x86_64__)
    case SYS_poll:
#endif
      return true;
    default:
      return false;
  }
}

}  // namespace roost

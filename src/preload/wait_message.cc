// Message queues of both kinds and System V semaphores: tried first, then waited for.
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "preload/blocking.h"

namespace roost {
namespace {

ROOST_BEHIND(int, msgsnd, int, const void*, size_t, int)
ROOST_BEHIND(ssize_t, msgrcv, int, void*, size_t, long, int)
ROOST_BEHIND(int, semop, int, sembuf*, size_t)
ROOST_BEHIND(int, semtimedop, int, sembuf*, size_t, const timespec*)
ROOST_BEHIND(ssize_t, mq_receive, mqd_t, char*, size_t, unsigned*)
ROOST_BEHIND(ssize_t, mq_timedreceive, mqd_t, char*, size_t, unsigned*, const timespec*)
ROOST_BEHIND(int, mq_send, mqd_t, const char*, size_t, unsigned)
ROOST_BEHIND(int, mq_timedsend, mqd_t, const char*, size_t, unsigned, const timespec*)

constexpr timespec kAtOnce{};

long wait_if(long would_wait, long result) { return result == would_wait ? kWouldWait : result; }

// With IPC_NOWAIT, as a timeout of zero does sleep, and a signal may end that. Where the program's
// own IPC_NOWAIT is why it fails, libc's call does not wait either. Of more operations than
// programs have (or of a bad address) the copy says nothing.
template <class Call>
int semaphore_or_wait(int id, const sembuf* operations, size_t count, const Call& call) {
  return attempt_or_wait(
      [&]() -> long {
        constexpr size_t kMost = 32;
        sembuf at_once[kMost];
        if (count > kMost || !os::read_own_memory(reinterpret_cast<std::uint64_t>(operations),
                                                  at_once, count * sizeof *at_once))
          return kWouldWait;
        for (size_t i = 0; i < count; ++i) at_once[i].sem_flg |= IPC_NOWAIT;
        return wait_if(-EAGAIN,
                       os::raw_syscall(SYS_semop, id, os::arg(at_once), static_cast<long>(count)));
      },
      call);
}

template <class Call>
ssize_t queue_or_wait(long number, mqd_t queue, const char* text, size_t bytes, long priority,
                      const timespec* until, const Call& call) {
  if (until && !asks_to_wait(until)) return call();
  return attempt_or_wait_cancellable(
      [&] {
        return wait_if(-ETIMEDOUT,
                       os::raw_syscall(number, queue, os::arg(text), static_cast<long>(bytes),
                                       priority, os::arg(&kAtOnce)));
      },
      call);
}

}  // namespace

ROOST_EXPORT int msgsnd(int id, const void* message, size_t bytes, int flags) {
  auto call = [&] { return real_msgsnd(id, message, bytes, flags); };
  if (flags & IPC_NOWAIT) return call();
  return attempt_or_wait_cancellable(
      [&] {
        return wait_if(-EAGAIN, os::raw_syscall(SYS_msgsnd, id, os::arg(message),
                                                static_cast<long>(bytes), flags | IPC_NOWAIT));
      },
      call);
}
ROOST_EXPORT ssize_t msgrcv(int id, void* message, size_t bytes, long type, int flags) {
  auto call = [&] { return real_msgrcv(id, message, bytes, type, flags); };
  if (flags & IPC_NOWAIT) return call();
  return attempt_or_wait_cancellable(
      [&] {
        return wait_if(-ENOMSG,
                       os::raw_syscall(SYS_msgrcv, id, os::arg(message), static_cast<long>(bytes),
                                       type, flags | IPC_NOWAIT));
      },
      call);
}

ROOST_EXPORT int semop(int id, sembuf* operations, size_t count) noexcept {
  return semaphore_or_wait(id, operations, count,
                           [&] { return real_semop(id, operations, count); });
}
ROOST_EXPORT int semtimedop(int id, sembuf* operations, size_t count,
                            const timespec* timeout) noexcept {
  auto call = [&] { return real_semtimedop(id, operations, count, timeout); };
  return asks_kernel_to_wait(timeout) ? semaphore_or_wait(id, operations, count, call)
                                      : undisturbed(call);
}

ROOST_EXPORT ssize_t mq_receive(mqd_t queue, char* text, size_t bytes, unsigned* priority) {
  return queue_or_wait(SYS_mq_timedreceive, queue, text, bytes, os::arg(priority), nullptr,
                       [&] { return real_mq_receive(queue, text, bytes, priority); });
}
ROOST_EXPORT ssize_t mq_timedreceive(mqd_t queue, char* text, size_t bytes, unsigned* priority,
                                     const timespec* until) {
  return queue_or_wait(SYS_mq_timedreceive, queue, text, bytes, os::arg(priority), until,
                       [&] { return real_mq_timedreceive(queue, text, bytes, priority, until); });
}
ROOST_EXPORT int mq_send(mqd_t queue, const char* text, size_t bytes, unsigned priority) {
  return static_cast<int>(
      queue_or_wait(SYS_mq_timedsend, queue, text, bytes, priority, nullptr,
                    [&] { return ssize_t{real_mq_send(queue, text, bytes, priority)}; }));
}
ROOST_EXPORT int mq_timedsend(mqd_t queue, const char* text, size_t bytes, unsigned priority,
                              const timespec* until) {
  return static_cast<int>(queue_or_wait(SYS_mq_timedsend, queue, text, bytes, priority, until, [&] {
    return ssize_t{real_mq_timedsend(queue, text, bytes, priority, until)};
  }));
}

}  // namespace roost

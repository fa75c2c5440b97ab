// The shared segment of an instance: /dev/shm/roost-<uid>-<name>, created, checked, attached,
// removed.
//
// The members of an instance name threads to each other by kernel ids, so each PID namespace has
// its own: in all but the machine's first one "@" and its inode follow the name. Containers that
// share /dev/shm (docker run --ipc=host) do not meet.
//
// An instance in use is joined without a lock. Creation and removal are serialised by flock(2) on
// the file, which the kernel drops when a process dies, and for which nobody waits longer than a
// second: its holder may be stopped. A segment whose processes are all dead is made anew by the
// next attacher. Nothing here is on a scheduling path. All functions are for start, fork and exit
// of a process: not async-signal-safe, errno may change.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "segment/header.h"

namespace roost {

// Errors are -errno or one of these; segment_error() says them in a sentence.
enum SegmentError {
  kSegmentWrongOwner = -10001,
  kSegmentWrongMode = -10002,
  kSegmentBadMagic = -10003,
  kSegmentOtherVersion = -10004,
  kSegmentDamaged = -10005,
  kSegmentOtherNamespace = -10006,
  kSegmentPolicyMismatch = -10007,
  kSegmentNoProcessSlot = -10008,
  kSegmentNoThreadRecord = -10009,
  kSegmentBadName = -10010,
  kSegmentUnfinished = -10011,
  kSegmentLocked = -10012,
  kSegmentOtherProc = -10013,
  kSegmentNoProc = -10014,
};
const char* segment_error(int error);

// What the creator fixes for all. `choose_cores` fills in the cores; it is called only if the
// segment is created, since looking at the machine costs some files for each core.
struct SegmentConfig {
  void (*choose_cores)(SegmentConfig&);  // null: they are there already
  const char* instance;
  const char* policy;
  std::uint64_t policy_layout;
  const char* policy_path;    // of a plug-in's file, else null
  std::uint64_t policy_hash;  // of that file, else 0
  std::uint64_t parameters[kMaxParameters];
  CoreIndex n_cores;
  std::uint32_t n_threads;  // 0: default
  PinMode pin_mode;
  CoreInfo cores[1024];
};
inline constexpr std::uint32_t kDefaultThreads = 14336;

// The mapped segment with its tables resolved and checked against the file's size.
struct Segment {
  SegmentHeader* header = nullptr;
  CoreSlot<RealWorld>* cores = nullptr;
  CoreInfo* core_info = nullptr;
  ThreadRecord<RealWorld>* threads = nullptr;
  ProcessSlot<RealWorld>* processes = nullptr;
  Fifo* fifos = nullptr;
  std::atomic<std::uint64_t>* thread_bits = nullptr;
  std::size_t bytes = 0;
  ino_t file = 0;
};

inline constexpr std::size_t kSegmentPathBytes = 128;
inline constexpr char kNamespaceMark = '@';
// Writes the path of an instance's segment; kSegmentBadName if the name is empty, too long or holds
// anything but letters, digits, '.', '_' and '-'.
int segment_path(char (&path)[kSegmentPathBytes], unsigned uid, const char* instance,
                 std::uint64_t pid_namespace);

// What a process knows of itself already; 0: the kernel is to be asked.
struct Known {
  bool is_forked;  // from a process of the instance
  std::uint64_t pid_namespace;
  std::uint64_t start_time;  // os::start_time_between()
};

// Attaches to the instance, creating it with `config` if there is none (or none alive), and takes a
// process slot for the caller. An existing instance keeps its own cores, policy and parameters.
int segment_attach(Segment& segment, SegmentConfig& config, ProcessIndex& process,
                   const Known& known = {});

// Makes the segment in an empty file that the caller has locked.
int segment_create(int fd, SegmentConfig& config, Segment& segment);

// Maps an existing segment read-write (clean) or read-only (ps) without a slot. -ENOENT if none;
// kSegmentUnfinished if its creator has not come so far, or never did.
int segment_open(Segment& segment, const char* path, bool writable);
// The same for a caller who knows its PID namespace.
int segment_open(Segment& segment, const char* path, bool writable, std::uint64_t pid_namespace);

// Ends the process's membership: its slot becomes free, or `exiting` while it still has threads
// that a keeper must clean up after. Removes the file if no other living process is left.
void segment_detach(Segment& segment, ProcessIndex process, ProcessState left);
void segment_unmap(Segment& segment);
// The same, but what has pointers into it finds memory of the process's own there, all zero.
void segment_abandon(Segment& segment);

// Whether any process of the segment is alive.
bool segment_in_use(const Segment& segment);

// Whether anybody, in whatever PID namespace, has the segment mapped so as to write to it; a forked
// child that left the instance may have, too. `fd`: its file, opened by the caller and not mapped.
bool segment_is_mapped(int fd);

// `roost clean`: removes the file if nobody alive uses it. 1 removed, 0 in use, negative error;
// kSegmentLocked while somebody makes or removes it. Another PID namespace's, too.
int segment_remove_if_stale(const char* path);

// A free thread record, its generation made odd, or kNoThread. Lock-free, async-signal-safe.
ThreadIndex segment_take_thread(const Segment& segment, ProcessIndex process);
void segment_free_thread(const Segment& segment, ThreadIndex thread);

// Calls `is_it(index, record)` for the thread records in use until it returns true; whether it did.
// The memory of the others may never have been touched, and is not to be.
template <class IsIt>
bool any_thread(const Segment& segment, IsIt&& is_it) {
  for (ThreadIndex first = 0; first < segment.header->n_threads; first += 64) {
    std::uint64_t used = segment.thread_bits[first / 64].load(std::memory_order_relaxed);
    for (; used; used &= used - 1) {
      ThreadIndex i = first + static_cast<ThreadIndex>(__builtin_ctzll(used));
      if (is_it(i, segment.threads[i])) return true;
    }
  }
  return false;
}

// The same for all of them.
template <class Visit>
void for_each_thread(const Segment& segment, Visit&& visit) {
  any_thread(segment, [&](ThreadIndex i, ThreadRecord<RealWorld>& record) {
    visit(i, record);
    return false;
  });
}

}  // namespace roost

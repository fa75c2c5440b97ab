// The head of the shared segment: identity, fixed parameters and the offsets of its tables.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "base/types.h"
#include "segment/records.h"

namespace roost {

inline constexpr std::uint64_t kMagic = 0x31305453'4f4f5200ull;  // "\0ROOST01"
inline constexpr std::uint32_t kAbiVersion = 10;
inline constexpr unsigned kMaxParameters = 16;
inline constexpr unsigned kInstanceNameBytes = 64;
inline constexpr unsigned kPolicyNameBytes = 32;
inline constexpr unsigned kPolicyPathBytes = 512;
inline constexpr unsigned kMaxMaskWords = 16;  // 1024 cores

// Whether os::start_time_between() agrees with /proc, which somebody has to have compared.
enum class StartTimes : std::uint32_t { unknown, agree, differ };

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t abi_version;
  std::uint32_t header_bytes;
  std::uint64_t layout_hash;
  std::uint64_t total_bytes;
  std::uint64_t pid_namespace;  // inode of /proc/self/ns/pid: tids must mean the same to all
  std::uint32_t uid;
  std::uint16_t n_cores;
  std::uint16_t n_processes;
  std::uint32_t n_threads;
  PinMode pin_mode;
  char instance[kInstanceNameBytes];
  char policy[kPolicyNameBytes];
  std::uint64_t policy_layout;               // hash of the policy's use of policy_words
  std::uint64_t policy_hash;                 // of a plug-in's file; 0: the policy is built in
  char policy_path[kPolicyPathBytes];        // of that file
  std::uint64_t parameters[kMaxParameters];  // in the order of the policy's table
  std::uint64_t created_ns;                  // CLOCK_REALTIME
  std::uint64_t cores_offset;
  std::uint64_t core_info_offset;
  std::uint64_t threads_offset;
  std::uint64_t processes_offset;
  std::uint64_t fifos_offset;
  std::uint64_t thread_bits_offset;

  // Somebody is about to remove the file: who sees it has not joined (segment/membership.cc).
  std::atomic<std::uint32_t> sealed;
  std::atomic<StartTimes> start_times;

  // Held by the keeper that watches the instance; robust, so the kernel hands it on.
  alignas(kCoreStride) pthread_mutex_t leader;
  std::atomic<std::uint32_t> leader_ticks;  // moves as long as somebody watches
  std::atomic<std::uint32_t> led_by;  // the process whose keeper leads, plus 1; 0: none, [keeper-2]
  std::atomic<std::uint32_t> leave_loops;  // by request: wait loops stay as the programs have them
  std::atomic<std::uint64_t> crowded_ns;   // when somebody who watches last saw READY threads
  std::atomic<std::uint32_t> waits_found;  // threads that were asked, and waited by spinning
  std::atomic<std::uint32_t> at_large;     // that use the CPU without a core (sched/at_large.h)
  std::uint64_t leader_words[6];

  alignas(kCoreStride) std::atomic<std::uint32_t> thread_hint;  // where to look for a free record
  std::atomic<std::uint64_t> retired[kCounters];  // counters of ended processes, as ThreadCounters
  std::atomic<std::uint64_t> reclaimed;           // processes found dead and cleaned up
  std::atomic<std::uint64_t> policy_faults;       // processes that met an answer of a plug-in's
                                                  // which could not be followed
  std::atomic<std::uint64_t> unmanaged;           // programs seen that cannot be managed
  char unmanaged_name[64];                        // the last of them

  alignas(kCoreStride) MaskWord<RealWorld> idle[kMaxMaskWords];  // cores with no owner (a hint)
  MaskWord<RealWorld> queued[kMaxMaskWords];  // cores with READY threads queued (a hint)
  // Set aside by the leader, as others use them (sched/contention.h).
  MaskWord<RealWorld> contended[kMaxMaskWords];
  MaskWord<RealWorld> on_trial[kMaxMaskWords];
  // For how long threads that had been granted a core did not run on it, where that was long.
  std::atomic<std::uint32_t> late_us[kMaxMaskWords * 64];
};

}  // namespace roost

// What a tool and the runtime exchange: types and numbers of OMPT (OpenMP 5.2, section 19.4), as
// far as this library uses them. A tool's own header is the compiler's <omp-tools.h>.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/ompt_numbers.h"

namespace roost::omp::ompt {

using namespace ompt_numbers;

// A word the tool keeps with a thread, region or task; zero at first.
union Data {
  std::uint64_t value;
  void* ptr;
};

// Where a task's code left off on its stack (19.4.4.29): user frames lie between the two addresses.
struct Frame {
  Data exit_frame;   // of the runtime, which called the task's code
  Data enter_frame;  // of the runtime, which the task's code called; null while it runs
  int exit_frame_flags;
  int enter_frame_flags;
};
// The frame is the runtime's, and the address its canonical one (the caller's stack pointer before
// the call), or what its frame pointer is, as code called from there has it saved.
inline constexpr int kCanonicalOfRuntime = 0x10;
inline constexpr int kFramePointerOfRuntime = 0x20;

enum class SetResult : int { error = 0, never = 1, sometimes = 3, always = 5 };

enum class ThreadKind : int { initial = 1, worker = 2 };

// Flags of tasks (19.4.4.18).
inline constexpr int kInitialTask = 1;
inline constexpr int kImplicitTask = 2;
inline constexpr int kExplicitTask = 4;
inline constexpr int kTaskwaitTask = 0x10;
inline constexpr int kUndeferred = 0x0800'0000;
inline constexpr int kUntied = 0x1000'0000;
inline constexpr int kFinal = 0x2000'0000;
inline constexpr int kMergeable = 0x4000'0000;

// Of parallel and teams regions (19.4.4.20).
inline constexpr int kInvokerProgram = 1;
inline constexpr int kInvokerRuntime = 2;
inline constexpr int kLeague = 0x4000'0000;
inline constexpr int kTeam = static_cast<int>(0x8000'0000);

// What `instance` of a chunk points to.
struct DispatchChunk {
  std::uint64_t start;
  std::uint64_t iterations;
};

// How all of them wait, in ompt_enumerate_mutex_impls().
inline constexpr unsigned kQueuingLock = 1;

enum class DependenceKind : int {
  in = 1,
  out = 2,
  inout = 3,
  mutexinoutset = 4,
  source = 5,  // of doacross loops
  sink = 6,
  inoutset = 7,
  out_all_memory = 34,
  inout_all_memory = 35,
};
struct Dependence {
  Data variable;
  DependenceKind kind;
};

// Of cancel events (19.4.4.25).
inline constexpr int kCancelsParallel = 1;
inline constexpr int kCancelsSections = 2;
inline constexpr int kCancelsLoop = 4;
inline constexpr int kCancelsTaskgroup = 8;
inline constexpr int kCancelActivated = 0x10;
inline constexpr int kCancelDetected = 0x20;
inline constexpr int kCancelDiscardedTask = 0x40;

enum class State : int {
  work_serial = 0,
  work_parallel = 1,
  work_reduction = 2,
  wait_barrier_implicit_parallel = 0x11,
  wait_barrier_implicit_workshare = 0x12,
  wait_barrier_explicit = 0x14,
  wait_barrier_implementation = 0x15,
  wait_taskwait = 0x20,
  wait_taskgroup = 0x21,
  wait_lock = 0x41,
  wait_critical = 0x42,
  wait_atomic = 0x43,
  wait_ordered = 0x44,
  idle = 0x100,
  overhead = 0x101,
  undefined = 0x102,
};

// ---- How the two find each other (19.2) ---------------------------------------------------------

using AnyFunction = void (*)();
using Lookup = AnyFunction (*)(const char* name);

struct StartToolResult {
  int (*initialize)(Lookup lookup, int initial_device, Data* tool_data);  // 0: no, thank you
  void (*finalize)(Data* tool_data);
  Data tool_data;
};
using StartTool = StartToolResult* (*)(unsigned version, const char* runtime);

// ---- Callbacks (19.5.2) -------------------------------------------------------------------------

using ThreadBegin = void (*)(ThreadKind kind, Data* thread);
using ThreadEnd = void (*)(Data* thread);
using ParallelBegin = void (*)(Data* task, const Frame* frame, Data* parallel, unsigned requested,
                               int flags, const void* code);
using ParallelEnd = void (*)(Data* parallel, Data* task, int flags, const void* code);
using ImplicitTask = void (*)(Endpoint, Data* parallel, Data* task, unsigned size, unsigned index,
                              int flags);
using TaskCreate = void (*)(Data* creator, const Frame* frame, Data* task, int flags,
                            int has_dependences, const void* code);
using TaskSchedule = void (*)(Data* prior, TaskStatus status, Data* next);
using DependencesCallback = void (*)(Data* task, const Dependence* list, int count);
using TaskDependence = void (*)(Data* source, Data* sink);
using WorkCallback = void (*)(Work, Endpoint, Data* parallel, Data* task, std::uint64_t count,
                              const void* code);
using DispatchCallback = void (*)(Data* parallel, Data* task, Dispatch kind, Data instance);
using Masked = void (*)(Endpoint, Data* parallel, Data* task, const void* code);
using SyncRegionCallback = void (*)(Sync, Endpoint, Data* parallel, Data* task, const void* code);
using MutexAcquire = void (*)(Mutex, unsigned hint, unsigned implementation, std::uint64_t wait_id,
                              const void* code);
using MutexCallback = void (*)(Mutex, std::uint64_t wait_id, const void* code);
using NestLockCallback = void (*)(Endpoint, std::uint64_t wait_id, const void* code);
using Flush = void (*)(Data* thread, const void* code);
using Cancel = void (*)(Data* task, int flags, const void* code);
using ControlTool = int (*)(std::uint64_t command, std::uint64_t modifier, void* argument,
                            const void* code);
using Error = void (*)(int severity, const char* message, std::size_t length, const void* code);

}  // namespace roost::omp::ompt

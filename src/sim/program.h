// What simulated programs do: threads as small scripts over shared objects. Plain data; generators
// (sim/generators.h) make it from the words of a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace roost::sim {

enum class OpKind : std::uint8_t {
  compute,     // `amount` cycles, `memory_permille` of them waiting for memory
  access,      // a memory request of `amount` ns at the controller of node `object` - 1, 0: the
               // thread's own; the core waits for it
  lock,        // mutex `object`; waiters retry when woken, as with a futex-based mutex
  unlock,      //
  spin_lock,   // mutex `object`, busy-waiting; whoever runs just then gets it
  yield_lock,  // the same with sched_yield in each round
  wait,        // counting semaphore `object`: blocks until there is a unit, first come first served
  signal,      // gives `amount` units to semaphore `object`
  barrier,     // `object`: blocks until all its members are there
  spin_barrier,   // the same, busy-waiting
  yield_barrier,  // the same, busy-waiting with sched_yield in each round
  fork,           // starts `amount` threads of script `object` in the same process
  fork_process,   // starts `amount` processes of one thread each
  join,           // waits until all threads and processes it has started have ended
  sleep,          // `amount` ns in the kernel
  io,             // `amount` ns of service at device `object`, which serves one request at a time
  yield,          // sched_yield
  accept,         // takes the oldest request of queue `object`, waits for one if there is none
  reply,          // the request accepted last is done: its latency is recorded
  count,          // `amount` units of work are done: throughput
  repeat,         // repeats up to the matching `again`, `amount` times in all; 0: for ever
  again,          // `object`: index of the op behind its `repeat`
};

struct Op {
  OpKind kind;
  std::uint16_t memory_permille = 0;
  std::uint32_t object = 0;
  std::uint64_t amount = 0;
};

inline constexpr unsigned kMaxNesting = 4;  // of repeat

struct Script {
  std::string name;
  std::vector<Op> ops;
  std::uint32_t working_set_kib = 0;  // refilled after a migration
  bool daemon = false;                // the run does not wait for its end
  bool traps = false;                 // waits and wakes by system calls outside libc (libgomp)
};

// Object numbers in ops are indices into these.
struct Program {
  struct Start {
    std::uint32_t script;
    ProcessIndex process;
    Nanoseconds at;
  };
  struct Arrival {
    Nanoseconds at;
    std::uint32_t queue;
  };

  std::vector<Script> scripts;
  std::uint32_t mutexes = 0;
  std::vector<std::uint64_t> semaphores;  // units to begin with
  std::vector<std::uint32_t> barriers;    // members
  std::uint32_t queues = 0;
  std::uint32_t devices = 0;
  std::vector<Start> starts;
  std::vector<Arrival> arrivals;  // of requests, by time
  ProcessIndex processes = 1;     // that `starts` name
  std::string unit = "unit";      // what `count` counts
};

// What all threads compute together, in the unit of Observer::computed(); 0 if some of them never
// end by themselves.
double total_work(const Program&);

// Checks indices, nesting and pairing; an empty text if all is well.
std::string program_error(const Program&);

}  // namespace roost::sim

// A machine to simulate: plain data, read from a TOML file that users copy and edit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "segment/records.h"

namespace roost::sim {

// How far apart two cores are; migrations and cache transfers cost by it.
enum class Distance { same, smt, llc, node, socket, remote, count };
inline constexpr unsigned kDistances = static_cast<unsigned>(Distance::count);

// Who sets a core's frequency (NEST section 2.3, Table 2 "Power management").
enum class FrequencyControl {
  fixed,     // always nominal: a virtual machine, or no turbo
  hardware,  // Intel Speed Shift: the core follows its own activity up to the turbo ladder
  software,  // Enhanced SpeedStep: what the governor asks for, cut to the ladder
};

enum class Governor { performance, schedutil };

struct TurboStep {
  unsigned active_cores;  // up to so many active cores of the socket
  std::uint32_t mhz;
};

// Nanoseconds of a core's time unless said otherwise.
struct Costs {
  Nanoseconds switch_threads;  // the kernel switches from one thread to another on a core
  Nanoseconds handoff;         // futex wake and wait on one core, from one thread to the next
  Nanoseconds wake_call;       // the waker's part of a wake-up
  Nanoseconds wake_busy;       // the same if the core does not have to be told: it is in use
  Nanoseconds wake_halted;     // from a wake-up until a thread runs on a halted core
  Nanoseconds wake_idle;       // the same on one that has halted only a moment ago
  Nanoseconds wake_polling;    // the same on a core that spins
  Nanoseconds yield_alone;     // sched_yield with nobody else
  Nanoseconds yield_switch;    // sched_yield that switches
  Nanoseconds affinity;        // affinity call for a sleeping thread
  Nanoseconds trap;            // a system call by an instruction outside libc, under Roost
  Nanoseconds create;          // pthread_create, paid by the creator, with a stack that was kept
  Nanoseconds create_stack;    // the same with a new stack: so much more
  Nanoseconds end;             // what a thread pays to end
  Nanoseconds reuse;           // pthread_create with a thread from Roost's cache
  Nanoseconds end_kept;        // the end of a thread that Roost keeps
  Nanoseconds fork_process;    // fork and exec, paid by the parent
  Nanoseconds lock;            // lock or unlock without contention
  Nanoseconds futex_look;      // a futex wait, until the kernel looks at the word
  Nanoseconds futex_call;      // a futex wake that finds nobody
  Nanoseconds pause;           // the instruction that busy-waiting loops make
  Nanoseconds cache_line;      // a written line seen by a core that polls it
  Nanoseconds refill_per_kib[kDistances];  // refill of a KiB of working set after a migration
};

struct Machine {
  std::string name;
  std::string summary;
  std::string source;  // where the numbers are from

  unsigned sockets;
  unsigned nodes_per_socket;
  unsigned llcs_per_node;
  unsigned cores_per_llc;  // physical
  unsigned threads_per_core;

  FrequencyControl control;
  std::uint32_t min_mhz;
  std::uint32_t nominal_mhz;
  std::vector<TurboStep> turbo;   // by rising active_cores; empty if fixed
  Nanoseconds frequency_update;   // how often frequencies are set anew
  std::uint32_t ramp_mhz_per_ms;  // how fast a busy core gains frequency
  Nanoseconds active_window;      // an idle core counts as active for the ladder for so long
  Nanoseconds decay;              // an idle core falls to its least frequency after this time

  unsigned smt_permille;     // speed of a hyperthread while its sibling is busy
  unsigned memory_threads;   // threads that only load or store, to saturate a node's memory
  unsigned remote_permille;  // time of an access to another node, of that to the own
  Costs costs;
  unsigned wake_spread_permille;  // wake-ups across cores take so much longer or less, at random
  Nanoseconds kernel_tick;        // of the Linux baseline
  Nanoseconds kernel_slice;       // EEVDF's base slice
  bool yield_forfeits;            // sched_yield gives up what the thread is owed (Linux 6.18)
  std::uint32_t core_milliwatts;  // of a busy core at nominal frequency, above idle
  std::uint32_t idle_milliwatts;  // of an idle core
  std::uint32_t socket_milliwatts;

  unsigned cores_per_node() const { return llcs_per_node * cores_per_llc * threads_per_core; }
  unsigned nodes() const { return sockets * nodes_per_socket; }
  CoreIndex n_cores() const { return static_cast<CoreIndex>(nodes() * cores_per_node()); }
  std::uint32_t max_mhz() const { return turbo.empty() ? nominal_mhz : turbo.front().mhz; }

  // The cores as the ledger and the policies see them. Hardware threads of one core are half a
  // node apart: a node's first threads come first, as Linux numbers them.
  std::vector<CoreInfo> core_info() const;
  // The other hardware thread of a core, kNoCore if it has none.
  CoreIndex sibling(CoreIndex core) const;
  Distance distance(CoreIndex a, CoreIndex b) const;
  // The turbo frequency with so many active cores on a socket.
  std::uint32_t ladder_mhz(unsigned active_cores) const;
};

// InputError if something is wrong with it.
Machine parse_machine(std::string_view text, const std::string& file);

// By the name of a shipped one, or by path if it has a '/' or ends in .toml.
Machine find_machine(const std::string& name_or_path);

}  // namespace roost::sim

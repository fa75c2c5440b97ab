// Reads machines, and answers questions of distance and frequency.
#include "sim/machine.h"

#include <fmt/format.h>

#include <cstring>

#include "sim/shipped.h"
#include "sim/toml_reader.h"

namespace roost::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct CostKey {
  const char* key;
  Nanoseconds Costs::*field;
};
constexpr CostKey kCostKeys[] = {
    {"switch", &Costs::switch_threads},
    {"handoff", &Costs::handoff},
    {"wake_call", &Costs::wake_call},
    {"wake_halted", &Costs::wake_halted},
    {"wake_polling", &Costs::wake_polling},
    {"yield_alone", &Costs::yield_alone},
    {"yield_switch", &Costs::yield_switch},
    {"affinity", &Costs::affinity},
    {"trap", &Costs::trap},
    {"create", &Costs::create},
    {"reuse", &Costs::reuse},
    {"fork_process", &Costs::fork_process},
    {"lock", &Costs::lock},
    {"cache_line", &Costs::cache_line},
};
constexpr CostKey kCostsThatMayBeNothing[] = {
    {"create_stack", &Costs::create_stack}, {"end", &Costs::end},
    {"end_kept", &Costs::end_kept},         {"futex_look", &Costs::futex_look},
    {"futex_call", &Costs::futex_call},
};

unsigned small(TomlReader& reader, const char* key, std::int64_t greatest) {
  return static_cast<unsigned>(reader.integer(key, 1, greatest));
}

void read_topology(Machine& machine, TomlReader reader) {
  machine.sockets = small(reader, "sockets", 16);
  machine.nodes_per_socket = small(reader, "nodes_per_socket", 16);
  machine.llcs_per_node = small(reader, "llcs_per_node", 64);
  machine.cores_per_llc = small(reader, "cores_per_llc", 512);
  machine.threads_per_core = small(reader, "threads_per_core", 2);
  std::uint64_t cores = std::uint64_t{machine.nodes()} * machine.cores_per_node();
  if (cores > 1024)
    reader.refuse_table(fmt::format("these make {} cores; at most 1024 are allowed", cores));
  reader.finish();
}

void read_frequency(Machine& machine, TomlReader reader) {
  machine.control =
      static_cast<FrequencyControl>(reader.choice("control", {"fixed", "hardware", "software"}));
  machine.nominal_mhz = static_cast<std::uint32_t>(reader.integer("nominal_mhz", 100, 10'000));
  if (machine.control == FrequencyControl::fixed) {
    machine.min_mhz = machine.nominal_mhz;
    machine.frequency_update = machine.active_window = machine.decay = 0;
    machine.ramp_mhz_per_ms = 0;
    reader.finish();
    return;
  }
  machine.min_mhz = static_cast<std::uint32_t>(reader.integer("min_mhz", 100, machine.nominal_mhz));
  for (const auto& row : reader.rows("turbo", 2, 1, 10'000)) {
    TurboStep step{static_cast<unsigned>(row[0]), static_cast<std::uint32_t>(row[1])};
    bool falls = machine.turbo.empty() || (step.active_cores > machine.turbo.back().active_cores &&
                                           step.mhz <= machine.turbo.back().mhz);
    if (!falls || step.mhz < machine.nominal_mhz) {
      reader.refuse("turbo",
                    "rows [cores, MHz] with rising cores and falling MHz, none below nominal_mhz");
    }
    machine.turbo.push_back(step);
  }
  unsigned per_socket = machine.nodes_per_socket * machine.llcs_per_node * machine.cores_per_llc;
  if (machine.turbo.empty() || machine.turbo.back().active_cores < per_socket) {
    reader.refuse("turbo", fmt::format("rows that end with all {} cores of a socket", per_socket));
  }
  machine.frequency_update = static_cast<Nanoseconds>(reader.integer("update_ns", 10'000, kSecond));
  machine.ramp_mhz_per_ms =
      static_cast<std::uint32_t>(reader.integer("ramp_mhz_per_ms", 1, 10'000));
  machine.active_window = static_cast<Nanoseconds>(reader.integer("active_window_ns", 0, kSecond));
  machine.decay = static_cast<Nanoseconds>(reader.integer("decay_ns", 0, kSecond));
  reader.finish();
}

void read_costs(Machine& machine, TomlReader reader) {
  for (const CostKey& cost : kCostKeys)
    machine.costs.*cost.field = static_cast<Nanoseconds>(reader.integer(cost.key, 0, kSecond));
  machine.costs.wake_busy = static_cast<Nanoseconds>(reader.integer_or(
      "wake_busy", static_cast<std::int64_t>(machine.costs.wake_call), 0, kSecond));
  machine.costs.wake_idle = static_cast<Nanoseconds>(reader.integer_or(
      "wake_idle", static_cast<std::int64_t>(machine.costs.wake_halted), 0, kSecond));
  machine.costs.pause = static_cast<Nanoseconds>(reader.integer_or("pause", 25, 0, kSecond));
  for (const CostKey& cost : kCostsThatMayBeNothing)
    machine.costs.*cost.field =
        static_cast<Nanoseconds>(reader.integer_or(cost.key, 0, 0, kSecond));
  machine.wake_spread_permille =
      static_cast<unsigned>(reader.integer_or("wake_spread_permille", 0, 0, 1000));
  std::vector<std::int64_t> refill = reader.integers("refill_per_kib", 0, 1'000'000);
  if (refill.size() != kDistances - 1) {
    reader.refuse("refill_per_kib",
                  "five numbers: to the sibling thread, in the cache, node, socket, and beyond");
  }
  machine.costs.refill_per_kib[0] = 0;
  for (unsigned i = 1; i < kDistances; ++i)
    machine.costs.refill_per_kib[i] = static_cast<Nanoseconds>(refill[i - 1]);
  reader.finish();
}

}  // namespace

std::vector<CoreInfo> Machine::core_info() const {
  std::vector<CoreInfo> info(n_cores());
  unsigned node_size = cores_per_node();
  for (unsigned core = 0; core < info.size(); ++core) {
    unsigned node = core / node_size;
    unsigned physical = core % node_size % (node_size / threads_per_core);
    info[core] = {static_cast<std::uint16_t>(core),
                  static_cast<std::uint16_t>(node),
                  static_cast<std::uint16_t>(node / nodes_per_socket),
                  static_cast<std::uint16_t>(node * llcs_per_node + physical / cores_per_llc),
                  static_cast<CoreIndex>(node * node_size),
                  static_cast<CoreIndex>((node + 1) * node_size),
                  0};
    CoreIndex other = sibling(static_cast<CoreIndex>(core));
    if (other != kNoCore)
      info[core].to_sibling = static_cast<std::int16_t>(other - static_cast<int>(core));
  }
  return info;
}

CoreIndex Machine::sibling(CoreIndex core) const {
  if (threads_per_core == 1) return kNoCore;
  unsigned half = cores_per_node() / 2;
  unsigned inside = core % cores_per_node();
  return static_cast<CoreIndex>(inside < half ? core + half : core - half);
}

Distance Machine::distance(CoreIndex a, CoreIndex b) const {
  if (a == b) return Distance::same;
  if (sibling(a) == b) return Distance::smt;
  unsigned size = cores_per_node();
  unsigned node_a = a / size, node_b = b / size;
  if (node_a != node_b) {
    return node_a / nodes_per_socket == node_b / nodes_per_socket ? Distance::socket
                                                                  : Distance::remote;
  }
  unsigned physical = size / threads_per_core;
  bool same_llc = a % size % physical / cores_per_llc == b % size % physical / cores_per_llc;
  return same_llc ? Distance::llc : Distance::node;
}

std::uint32_t Machine::ladder_mhz(unsigned active_cores) const {
  for (const TurboStep& step : turbo) {
    if (active_cores <= step.active_cores) return step.mhz;
  }
  return turbo.empty() ? nominal_mhz : turbo.back().mhz;
}

Machine parse_machine(std::string_view text, const std::string& file) {
  toml::table table = parse_toml(text, file);
  TomlReader reader(table, file);
  Machine machine{};
  machine.name = reader.text("name");
  machine.summary = reader.text("summary");
  machine.source = reader.text("source");
  read_topology(machine, reader.table("topology"));
  read_frequency(machine, reader.table("frequency"));
  read_costs(machine, reader.table("costs_ns"));

  TomlReader sharing = reader.table("sharing");
  machine.smt_permille = static_cast<unsigned>(sharing.integer_or("smt_permille", 620, 100, 1000));
  machine.memory_threads = static_cast<unsigned>(sharing.integer("memory_threads", 1, 1024));
  machine.remote_permille =
      static_cast<unsigned>(sharing.integer_or("remote_permille", 1000, 1000, 10'000));
  sharing.finish();

  TomlReader kernel = reader.table("kernel");
  machine.kernel_tick = static_cast<Nanoseconds>(kernel.integer("tick_ns", 100'000, kSecond));
  machine.kernel_slice = static_cast<Nanoseconds>(kernel.integer("slice_ns", 100'000, kSecond));
  machine.yield_forfeits = kernel.flag_or("yield_forfeits", false);
  kernel.finish();

  TomlReader power = reader.table("power_mw");
  machine.core_milliwatts = static_cast<std::uint32_t>(power.integer_or("core", 0, 0, 1'000'000));
  machine.idle_milliwatts = static_cast<std::uint32_t>(power.integer_or("idle", 0, 0, 1'000'000));
  machine.socket_milliwatts =
      static_cast<std::uint32_t>(power.integer_or("socket", 0, 0, 1'000'000));
  power.finish();
  reader.finish();
  return machine;
}

Machine find_machine(const std::string& name) {
  TomlFile file = find_toml(name, kShippedMachines, "machine");
  return parse_machine(file.text, file.name);
}

}  // namespace roost::sim

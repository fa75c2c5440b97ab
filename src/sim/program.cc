// Checks that a program's numbers point at something.
#include "sim/program.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace roost::sim {
namespace {

std::uint64_t objects(const Program& program, OpKind kind) {
  switch (kind) {
    case OpKind::lock:
    case OpKind::unlock:
    case OpKind::spin_lock:
    case OpKind::yield_lock:
      return program.mutexes;
    case OpKind::wait:
    case OpKind::signal:
      return program.semaphores.size();
    case OpKind::barrier:
    case OpKind::spin_barrier:
    case OpKind::yield_barrier:
      return program.barriers.size();
    case OpKind::fork:
    case OpKind::fork_process:
      return program.scripts.size();
    case OpKind::accept:
      return program.queues;
    case OpKind::io:
      return program.devices;
    default:
      return ~0ull;
  }
}

std::string script_error(const Program& program, const Script& script) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < script.ops.size(); ++i) {
    const Op& op = script.ops[i];
    auto wrong = [&](const char* what) {
      return fmt::format("script '{}', step {}: {}", script.name, i, what);
    };
    if (op.object >= objects(program, op.kind)) return wrong("there is no such object");
    if (op.memory_permille > 1000) return wrong("a memory share above 1000 permille");
    if (op.kind == OpKind::repeat) open.push_back(i + 1);
    if (open.size() > kMaxNesting) return wrong("too many repeats inside each other");
    if (op.kind == OpKind::again) {
      if (open.empty() || open.back() != op.object) return wrong("this ends no repeat");
      open.pop_back();
    }
  }
  return open.empty() ? "" : fmt::format("script '{}': a repeat has no end", script.name);
}

}  // namespace

double total_work(const Program& program) {
  constexpr double kWorkPerCycle = 1e6;
  constexpr double kUnknown = -1;
  // A script starts scripts that stand before or behind it; none starts itself, or it never ends.
  std::vector<double> known(program.scripts.size(), kUnknown);
  auto work_of = [&](auto&& self, std::uint32_t index, unsigned depth) -> double {
    if (depth > program.scripts.size()) return std::numeric_limits<double>::infinity();
    if (known[index] != kUnknown) return known[index];
    double work = 0;
    std::vector<double> times{1};
    for (const Op& op : program.scripts[index].ops) {
      auto amount = static_cast<double>(op.amount);
      if (op.kind == OpKind::compute) {
        work += times.back() * amount * kWorkPerCycle;
      } else if (op.kind == OpKind::repeat) {
        times.push_back(op.amount ? times.back() * amount
                                  : std::numeric_limits<double>::infinity());
      } else if (op.kind == OpKind::again) {
        times.pop_back();
      } else if (op.kind == OpKind::fork || op.kind == OpKind::fork_process) {
        double child = self(self, op.object, depth + 1);
        if (child > 0) work += times.back() * amount * child;
      }
    }
    return known[index] = work;
  };
  double total = 0;
  for (const Program::Start& start : program.starts) total += work_of(work_of, start.script, 0);
  return std::isfinite(total) ? total : 0;
}

std::string program_error(const Program& program) {
  for (const Script& script : program.scripts) {
    std::string error = script_error(program, script);
    if (!error.empty()) return error;
  }
  for (const Program::Start& start : program.starts) {
    if (start.script >= program.scripts.size()) return "a start names no script";
    if (start.process >= program.processes) return "a start names no process";
  }
  for (std::uint32_t members : program.barriers) {
    if (members == 0) return "a barrier without members";
  }
  for (const Program::Arrival& arrival : program.arrivals) {
    if (arrival.queue >= program.queues) return "an arrival at no queue";
  }
  return "";
}

}  // namespace roost::sim

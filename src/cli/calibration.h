// What `roost sim calibrate` measures on the machine it runs on: single operations, each in several
// rounds, so that a table can show how far the rounds lie apart.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "topo/machine.h"

namespace roost::cli {

// Where and for how long one round of a measurement runs.
struct Bench {
  const Machine& machine;
  Nanoseconds duration;  // of one round of most measurements, roughly

  unsigned cpu(unsigned core) const { return machine.cores[core].os_cpu; }
};

// One quantity. A round gives nothing where the machine lacks what is asked for (a second core, a
// sibling thread, a permission).
struct Measurement {
  std::string name;
  std::string unit;
  std::string what;
  std::function<std::optional<double>(const Bench&)> round;
};

std::vector<Measurement> kernel_measurements();     // calibrate_kernel.cc: threads and system calls
std::vector<Measurement> processor_measurements();  // calibrate_processor.cc: caches, memory, clock

// The values of all rounds of one measurement, by size; there is at least one.
struct Figure {
  std::string unit;
  std::string what;
  std::vector<double> values;

  double median() const { return values[values.size() / 2]; }
};

// By name; `order` is that of the measurements.
struct Figures {
  std::map<std::string, Figure> by_name;
  std::vector<std::string> order;

  bool has(const std::string& name) const { return by_name.contains(name); }
  // The median; `otherwise` if it could not be measured.
  double value(const std::string& name, double otherwise) const;
  void add(const std::string& name, const std::string& unit, const std::string& what,
           std::optional<double> value);
};

// Both kinds.
std::vector<Measurement> all_measurements();

// Runs `all` once in each of `rounds`, in turn, so that a disturbance of a second spoils one value
// of many quantities and not all of one. `next` is called before each.
Figures measure(const Bench&, const std::vector<Measurement>& all, unsigned rounds,
                const std::function<void(const std::string& name)>& next);

// What a thread costs under Roost: measured in a child, `roost run roost sim calibrate --probe`.
// From one of `threads` threads to the next, on one core.
double probe_handoff(unsigned threads, Nanoseconds duration);
struct ThreadLife {
  double create;  // the creator's part of a thread's start
  double all;     // until it has been joined
};
ThreadLife probe_life(Nanoseconds duration);

// How the file begins, by which an earlier one is known.
inline constexpr const char* kMachineFileBegins =
    "# A machine for `roost sim`, measured by `roost sim calibrate`.";
// The machine file (sim/machine.h) made of the figures; what could not be measured is assumed, and
// its line says so.
std::string machine_file(const Machine&, const Figures&, const std::string& name, unsigned rounds);

}  // namespace roost::cli

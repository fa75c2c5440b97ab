// Runs measurements in rounds and keeps their figures.
#include "cli/calibration.h"

#include <algorithm>

namespace roost::cli {

double Figures::value(const std::string& name, double otherwise) const {
  auto found = by_name.find(name);
  return found == by_name.end() ? otherwise : found->second.median();
}

void Figures::add(const std::string& name, const std::string& unit, const std::string& what,
                  std::optional<double> value) {
  if (!value) return;
  auto [entry, is_new] = by_name.try_emplace(name, Figure{unit, what, {}});
  if (is_new) order.push_back(name);
  std::vector<double>& values = entry->second.values;
  values.insert(std::upper_bound(values.begin(), values.end(), *value), *value);
}

std::vector<Measurement> all_measurements() {
  std::vector<Measurement> all = kernel_measurements();
  for (Measurement& measurement : processor_measurements()) all.push_back(std::move(measurement));
  return all;
}

Figures measure(const Bench& bench, const std::vector<Measurement>& all, unsigned rounds,
                const std::function<void(const std::string& name)>& next) {
  Figures figures;
  for (unsigned round = 0; round < rounds; ++round) {
    for (const Measurement& it : all) {
      next(it.name);
      figures.add(it.name, it.unit, it.what, it.round(bench));
    }
  }
  return figures;
}

}  // namespace roost::cli

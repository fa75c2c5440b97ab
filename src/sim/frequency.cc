// Frequencies by governor, control and ladder.
#include "sim/frequency.h"

#include <algorithm>

namespace roost::sim {

Frequencies::Frequencies(const Machine& machine, Governor governor)
    : machine_(machine),
      governor_(governor),
      domain_of_(machine.n_cores()),
      active_(machine.sockets) {
  std::vector<CoreInfo> info = machine.core_info();
  for (CoreIndex core = 0; core < machine.n_cores(); ++core) {
    CoreIndex sibling = machine.sibling(core);
    if (sibling != kNoCore && sibling < core) {
      domain_of_[core] = domain_of_[sibling];
      continue;
    }
    domain_of_[core] = static_cast<std::uint32_t>(domains_.size());
    Domain domain{};
    domain.core = core;
    domain.socket = info[core].socket;
    domain.mhz = fixed() ? machine.nominal_mhz : floor_mhz();
    domains_.push_back(domain);
  }
}

void Frequencies::begins(CoreIndex core, Nanoseconds) {
  Domain& domain = domains_[domain_of_[core]];
  if (domain.executing++ == 0) ++executing_;
  domain.ever = true;
}

void Frequencies::ends(CoreIndex core, Nanoseconds now) {
  Domain& domain = domains_[domain_of_[core]];
  if (--domain.executing == 0) {
    --executing_;
    domain.idle_since = now;
  }
}

void Frequencies::set_used(CoreIndex core, bool used, Nanoseconds now) {
  Domain& domain = domains_[domain_of_[core]];
  if (used) {
    if (domain.used++ == 0) domain.used_since = now;
  } else if (--domain.used == 0) {
    domain.used_time += now - domain.used_since;
  }
}

void Frequencies::count_active(Nanoseconds now) {
  std::fill(active_.begin(), active_.end(), 0);
  for (const Domain& domain : domains_) {
    bool active =
        domain.executing || (domain.ever && now - domain.idle_since < machine_.active_window);
    active_[domain.socket] += active;
  }
}

std::uint32_t Frequencies::next_mhz(Domain& domain, Nanoseconds now, Nanoseconds elapsed) {
  if (domain.used) {
    domain.used_time += now - domain.used_since;
    domain.used_since = now;
  }
  if (elapsed == 0) return domain.mhz;
  // 2^-(elapsed / 32 ms), by its Taylor series up to 10 ms and as good as 0 beyond 320 ms.
  std::uint64_t keep = 65536;
  for (Nanoseconds left = std::min<Nanoseconds>(elapsed, 320'000'000); left;) {
    Nanoseconds part = std::min<Nanoseconds>(left, 10'000'000);
    std::uint64_t x = 45426 * part / 32'000'000;  // 65536 ln 2
    keep = keep * (65536 - x + x * x / 131072) >> 16;
    left -= part;
  }
  std::uint64_t share = std::min<std::uint64_t>(1024, domain.used_time * 1024 / elapsed);
  domain.used_time = 0;
  domain.utilisation =
      static_cast<std::uint32_t>((domain.utilisation * keep + share * (65536 - keep)) >> 16);

  std::uint32_t floor = floor_mhz();
  if (!domain.executing && now - domain.idle_since >= machine_.decay) return floor;
  std::uint32_t target = machine_.ladder_mhz(active_[domain.socket]);
  if (machine_.control == FrequencyControl::software && governor_ == Governor::schedutil) {
    // schedutil asks for 1.25 times what it has seen used.
    std::uint64_t asked = std::uint64_t{machine_.max_mhz()} * domain.utilisation * 5 / 4096;
    target = std::clamp(static_cast<std::uint32_t>(asked), floor, target);
  }
  if (!domain.executing) return std::min(domain.mhz, target);
  std::uint64_t ramp = machine_.ramp_mhz_per_ms * elapsed / 1'000'000;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(domain.mhz + ramp, target));
}

}  // namespace roost::sim

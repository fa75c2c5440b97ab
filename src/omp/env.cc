// Reads the OMP_* variables.
#include <cstdlib>

#include "omp/icv.h"
#include "ult/host.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

constinit Settings the_settings;
constinit std::atomic<bool> read{false};
constinit ult::SpinLock lock;

}  // namespace

const Settings& settings() {
  if (read.load(std::memory_order_acquire)) return the_settings;
  ult::SpinGuard guard(lock);
  if (read.load(std::memory_order_relaxed)) return the_settings;
  the_settings.initial.threads = static_cast<int>(ult::host::cores());
  if (const char* text = getenv("OMP_NUM_THREADS")) the_settings.initial.threads = atoi(text);
  if (const char* text = getenv("ROOST_OMP_LEVELS")) the_settings.os_levels = atoi(text);
  read.store(true, std::memory_order_release);
  return the_settings;
}

}  // namespace roost::omp

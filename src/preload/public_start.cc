// roost_start() of roost/roost.h: joins an instance from a program that `roost run` did not start.
//
// What the caller asks for is put in front of a copy of the environment, so that there is one
// reader of settings (preload/config.cc) and one set of defaults.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "preload/config.h"
#include "preload/nudge.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/thread.h"
#include "roost/roost.h"
#include "sched/runtime.h"

namespace roost {
namespace {

std::atomic<bool> starting{false};

constexpr unsigned kMaxRequests = 5;

// `variable` and `value` as an entry of an environment.
using Entry = Text<kPolicyPathBytes + 16>;

class Request {
 public:
  void add(const char* variable, const char* value) {
    Entry& entry = entries_[count_];
    entry << variable << '=' << value;
    variables_[count_++] = const_cast<char*>(entry.c_str());
  }
  void add(const char* variable, std::uint64_t value) {
    Entry number;
    number << value;
    add(variable, number.c_str());
  }
  // The first entry of a name counts. `room` holds kMaxRequests + 1 more than environ.
  void place_before_environment(char** room, std::size_t n_environment) const {
    memcpy(room, variables_, count_ * sizeof(char*));
    if (n_environment) memcpy(room + count_, environ, n_environment * sizeof(char*));
    char** end = room + count_ + n_environment;
    static char default_instance[] = "ROOST_INSTANCE=default";
    *end++ = default_instance;
    *end = nullptr;
  }

 private:
  Entry entries_[kMaxRequests];
  char* variables_[kMaxRequests];
  std::size_t count_ = 0;
};

bool valid(const roost_config& config) {
  if (config.instance && strnlen(config.instance, kInstanceNameBytes) >= kInstanceNameBytes)
    return false;
  if (config.policy && strnlen(config.policy, kPolicyPathBytes) >= kPolicyPathBytes) return false;
  for (std::uint32_t word : config.reserved) {
    if (word) return false;
  }
  return true;
}

int errno_of(int error) {
  switch (error) {
    case kSegmentWrongOwner:
    case kSegmentWrongMode:
      return -EACCES;
    case kSegmentBadMagic:
    case kSegmentOtherVersion:
    case kSegmentDamaged:
      return -EPROTO;
    case kSegmentOtherNamespace:
    case kSegmentOtherProc:
    case kSegmentNoProc:
      return -EXDEV;
    case kSegmentPolicyMismatch:
      return -ENOTSUP;
    case kSegmentNoProcessSlot:
      return -EUSERS;
    case kSegmentNoThreadRecord:
      return -EAGAIN;
    case kSegmentBadName:
      return -EINVAL;
    default:
      return error;
  }
}

int start(const roost_config& wanted) {
  Request request;
  if (wanted.instance) request.add("ROOST_INSTANCE", wanted.instance);
  if (wanted.policy) request.add("ROOST_POLICY", wanted.policy);
  if (wanted.cores) request.add("ROOST_CORES", std::uint64_t{wanted.cores});
  if (wanted.quantum_ns) request.add("ROOST_QUANTUM_NS", wanted.quantum_ns);
  std::size_t n_environment = 0;
  while (environ && environ[n_environment]) ++n_environment;
  auto** room =
      static_cast<char**>(__builtin_alloca((n_environment + kMaxRequests + 2) * sizeof(char*)));
  request.place_before_environment(room, n_environment);
  static constinit SegmentConfig config{};
  PolicyFileError refused;
  ConfigResult found = read_config(room, config, refused);
  if (found == ConfigResult::refused) {
    refused << '\n';
    os::write(2, "roost: ", 7);
    os::write(2, refused.c_str(), refused.length());
  }
  if (found != ConfigResult::managed) return -EINVAL;
  trap_configure(trap_wanted(room));
  bool others = os::listed_threads() > 1;
  nudges_prepare(spin_mode_wanted(environ));
  if (int error = start_process(config)) return errno_of(error);
  nudges_start();
  // They end unseen, so which is the process's last thread can no longer be told.
  if (others) thread_started();
  return 0;
}

}  // namespace

ROOST_EXPORT int roost_start(const struct roost_config* config) {
  if (runtime_active()) return 0;
  roost_config wanted{};
  if (config) wanted = *config;
  if (!valid(wanted)) return -EINVAL;
  if (starting.exchange(true, std::memory_order_acquire)) return -EALREADY;
  int saved = errno;
  int result = runtime_active() ? 0 : start(wanted);
  errno = saved;
  starting.store(false, std::memory_order_release);
  return result;
}

}  // namespace roost

// A list for each thread, short: what its light threads hold at the moment.
#include "preload/light_owner.h"

#include "preload/light.h"

namespace roost {
namespace {

// As many at a time as a thread's light threads hold together; others count as the thread's own.
constexpr unsigned kMost = 32;
struct Owned {
  const pthread_mutex_t* mutex;
  const void* by;
  int times;
};
constinit thread_local Owned owned[kMost] = {};
constinit thread_local unsigned n_owned = 0;

Owned* find(const pthread_mutex_t* mutex) {
  for (unsigned i = 0; i < n_owned; ++i)
    if (owned[i].mutex == mutex) return &owned[i];
  return nullptr;
}

}  // namespace

void note_light_owner(const pthread_mutex_t* mutex, int change) {
  Owned* found = find(mutex);
  if (!found) {
    if (change < 0 || n_owned == kMost) return;
    found = &owned[n_owned++];
    *found = {mutex, own_light.self, 0};
  }
  if (found->by != own_light.self) return;  // a sibling has it: libc let this one unlock it
  found->times += change;
  if (found->times <= 0) *found = owned[--n_owned];
}

bool owned_by_this_light_thread(const pthread_mutex_t* mutex) {
  const Owned* found = find(mutex);
  return own_light.self == (found ? found->by : nullptr);
}

}  // namespace roost

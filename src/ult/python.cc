// The keys, and the exchange.
#include "ult/python.h"

#include <limits.h>
#include <pthread.h>

// The interpreter's, bound when this library is loaded: a region may be opened while another thread
// has the dynamic linker's lock.
extern "C" __attribute__((weak, visibility("default"))) void* PyGILState_GetThisThreadState();

namespace roost::ult {

constinit std::atomic<unsigned> n_python_keys{0};

namespace {

constexpr unsigned kMostLooks = 64;
constinit std::atomic<unsigned> looks{0};
constinit std::atomic<bool> finding{false};
pthread_key_t keys[kPythonKeys];  // as many as n_python_keys says

// Nobody waits for who is at it: a forked child would for ever.
void find_keys(const void* state) {
  if (finding.exchange(true, std::memory_order_acquire)) return;
  unsigned found = 0;
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX && found < kPythonKeys; ++key)
    if (pthread_getspecific(key) == state) keys[found++] = key;
  n_python_keys.store(found, std::memory_order_release);
  if (found == 0) finding.store(false, std::memory_order_release);
}

}  // namespace

void look_for_python() {
  if (!PyGILState_GetThisThreadState) return;
  if (__builtin_expect(looks.load(std::memory_order_relaxed) >= kMostLooks, 1)) return;
  looks.fetch_add(1, std::memory_order_relaxed);
  if (n_python_keys.load(std::memory_order_relaxed)) return;
  const void* state = PyGILState_GetThisThreadState();  // null: not known to Python
  if (state) find_keys(state);
}

void exchange_python_states(Strand& from, const Strand& to) {
  unsigned n = n_python_keys.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < n; ++i) {
    void* state = pthread_getspecific(keys[i]);
    from.python[i] = state;
    if (state != to.python[i]) pthread_setspecific(keys[i], to.python[i]);
  }
}

}  // namespace roost::ult

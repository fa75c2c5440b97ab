// The keys, and the exchange.
#include "ult/thread_data.h"

#include <limits.h>

// The interpreter's, bound when this library is loaded: a region may be opened while another thread
// has the dynamic linker's lock.
extern "C" __attribute__((weak, visibility("default"))) void* PyGILState_GetThisThreadState();

namespace roost::ult {

constinit std::atomic<unsigned> n_exchanged_keys{0};

namespace {

constexpr unsigned kMostLooks = 64;
constinit std::atomic<unsigned> looks{0};
// As many as n_exchanged_keys says, each plus one.
constinit std::atomic<pthread_key_t> keys[kExchangedKeys] = {};

}  // namespace

// Nobody waits for another who is at it: a forked child would for ever.
void exchange_key(pthread_key_t key) {
  for (unsigned i = 0; i < kExchangedKeys; ++i) {
    pthread_key_t none = 0;
    bool added = keys[i].compare_exchange_strong(none, key + 1, std::memory_order_relaxed);
    if (!added && none != key + 1) continue;
    unsigned n = n_exchanged_keys.load(std::memory_order_relaxed);
    while (n < i + 1 &&
           !n_exchanged_keys.compare_exchange_weak(n, i + 1, std::memory_order_release)) {
    }
    return;
  }
}

void look_for_python() {
  if (!PyGILState_GetThisThreadState) return;
  if (__builtin_expect(looks.load(std::memory_order_relaxed) >= kMostLooks, 1)) return;
  looks.fetch_add(1, std::memory_order_relaxed);
  const void* state = PyGILState_GetThisThreadState();
  if (!state) return;  // the thread is not known to Python
  looks.store(kMostLooks, std::memory_order_relaxed);
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key)
    if (pthread_getspecific(key) == state) exchange_key(key);
}

void exchange_values(Strand& from, const Strand& to) {
  unsigned n = n_exchanged_keys.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < n; ++i) {
    pthread_key_t key = keys[i].load(std::memory_order_relaxed) - 1;
    void* value = pthread_getspecific(key);
    from.thread_data[i] = value;
    if (value != to.thread_data[i]) pthread_setspecific(key, to.thread_data[i]);
  }
}

}  // namespace roost::ult

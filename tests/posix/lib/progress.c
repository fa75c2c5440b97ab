// A message library of one message, the turn: polled by a progress function with the name of UCX's,
// which is called as other objects call it, through the procedure linkage table.
#include <stdint.h>

static uint32_t turn, polls;

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  __atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED);  // so no round of the poll repeats
  return __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == *(const uint32_t*)worker;
}

void take_turn(uint32_t mine) {
  while (ucp_worker_progress(&mine) == 0) continue;
  __atomic_store_n(&turn, mine + 1, __ATOMIC_RELEASE);
}

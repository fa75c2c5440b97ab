// Serves the first process of all for as long as it has threads: the others starve. Every answer
// can be followed, so nobody refuses it; the conformance suite finds it.
#include <roost/policy.h>
#include <stddef.h>

static uint16_t thread_ready(const struct roost_policy_context* context, uint16_t last_core,
                             uint64_t* thread_words, struct roost_policy_cores* cores) {
  (void)context, (void)thread_words, (void)cores;
  return last_core;
}

static uint16_t core_free(const struct roost_policy_context* context, uint16_t core, uint16_t from,
                          uint64_t* core_words, const struct roost_policy_queues* queues) {
  (void)context, (void)core, (void)from, (void)core_words;
  return queues->next_after(queues, ROOST_NO_PROCESS);
}

const struct roost_policy roost_policy = {
    .version = ROOST_POLICY_VERSION,
    .size = sizeof(struct roost_policy),
    .name = "starves",
    .summary = "The first process first, for ever.",
    .layout = 1,
    .thread_ready = thread_ready,
    .core_free = core_free,
};

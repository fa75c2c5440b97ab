// A policy under which a thread that finds no idle core waits where the fewest others wait.
//
//   cc -std=c11 -O2 -shared -fPIC $(pkg-config --cflags roost) -o shortest_queue.so
//   shortest_queue.c
//
// Roost's own policies let it wait for the core it last ran on, whose caches may still hold its
// data. Here it leaves that core if `gain` fewer threads wait at another of the same NUMA node.
// Processes take turns, a thread each. docs/user/writing-a-policy.md walks through this file.
#include <roost/policy.h>
#include <stddef.h>

enum parameter { GAIN };
enum core_word { SERVED };  // the process that last got the core, + 1; 0: none yet

static uint16_t thread_ready(const struct roost_policy_context* context, uint16_t last_core,
                             uint64_t* thread_words, struct roost_policy_cores* cores) {
  (void)thread_words;
  uint32_t here = cores->queued(cores, last_core);
  uint16_t best = last_core;
  uint32_t fewest = here;
  const struct roost_policy_core* info = &context->cores[last_core];
  for (uint16_t core = info->node_first; core < info->node_end; ++core) {
    uint32_t queued = cores->queued(cores, core);
    if (queued < fewest) {
      best = core;
      fewest = queued;
    }
  }
  return here - fewest >= context->parameters[GAIN] ? best : last_core;
}

static uint16_t core_free(const struct roost_policy_context* context, uint16_t core, uint16_t from,
                          uint64_t* core_words, const struct roost_policy_queues* queues) {
  (void)context, (void)core, (void)from;
  uint16_t served = core_words[SERVED] ? (uint16_t)(core_words[SERVED] - 1) : ROOST_NO_PROCESS;
  return queues->next_after(queues, served);
}

static void thread_granted(const struct roost_policy_context* context, uint16_t core,
                           uint16_t process, uint64_t* core_words) {
  (void)context, (void)core;
  core_words[SERVED] = process + 1u;
}

static const struct roost_policy_parameter parameters[] = {
    [GAIN] = {.name = "gain",
              .unit = "threads",
              .summary = "So many fewer must wait at another core before a thread leaves its own.",
              .standard = 2,
              .minimum = 1,
              .maximum = 1000},
};

const struct roost_policy roost_policy = {
    .version = ROOST_POLICY_VERSION,
    .size = sizeof(struct roost_policy),
    .name = "shortest_queue",
    .summary = "Threads wait for the core of their NUMA node at which fewest others wait.",
    .layout = 1,
    .parameters = parameters,
    .n_parameters = sizeof parameters / sizeof parameters[0],
    .thread_ready = thread_ready,
    .core_free = core_free,
    .thread_granted = thread_granted,
};

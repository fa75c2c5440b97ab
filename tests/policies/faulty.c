// A policy with one mistake, chosen by FAULT: those that must be refused when it is loaded, and
// those that must be caught when it runs. cmake/PlugIns.cmake builds one object a line:
//
// fault: NONE               a good policy, with every callback
// fault: NO_SYMBOL          exports nothing
// fault: A_FUNCTION         exports a function of that name
// fault: WRONG_VERSION
// fault: WRONG_SIZE
// fault: SHORT_TABLE        exports fewer bytes than a table has
// fault: NO_NAME
// fault: BAD_NAME
// fault: TAKEN_NAME
// fault: NO_SUMMARY
// fault: NO_LAYOUT
// fault: NO_THREAD_READY
// fault: NO_CORE_FREE
// fault: MANY_PARAMETERS
// fault: NO_PARAMETERS      says that it has one
// fault: BAD_PARAMETER      whose standard value is out of range
// fault: SAME_PARAMETER     twice
// fault: UNIT_MISSING
// fault: CALLS_LIBC         malloc
// fault: CALLS_UNKNOWN      a function that nobody has
// fault: NEEDS_LIBRARY      libm (cmake/PlugIns.cmake links it)
// fault: EXPORTS_MORE       than its table
// fault: THREAD_LOCAL       state
// fault: READY_NOWHERE      thread_ready names a core that does not exist
// fault: FREE_NOBODY        core_free names no process
// fault: FREE_WRONG         core_free names a process without threads
// fault: PLACE_UNCLAIMED    place returns a core that it has not claimed
// fault: PLACE_KEEPS        place claims a core and returns none
// fault: PLACE_TWICE        place claims a second core
// fault: IDLE_CLAIMS        core_idle claims a core
// fault: ASKS_NOWHERE       asks about a core that does not exist
#include <roost/policy.h>
#include <stddef.h>

enum {
  NONE,
  NO_SYMBOL,
  A_FUNCTION,
  WRONG_VERSION,
  WRONG_SIZE,
  SHORT_TABLE,
  NO_NAME,
  BAD_NAME,
  TAKEN_NAME,
  NO_SUMMARY,
  NO_LAYOUT,
  NO_THREAD_READY,
  NO_CORE_FREE,
  MANY_PARAMETERS,
  NO_PARAMETERS,
  BAD_PARAMETER,
  SAME_PARAMETER,
  UNIT_MISSING,
  CALLS_LIBC,
  CALLS_UNKNOWN,
  NEEDS_LIBRARY,
  EXPORTS_MORE,
  THREAD_LOCAL,
  READY_NOWHERE,
  FREE_NOBODY,
  FREE_WRONG,
  PLACE_UNCLAIMED,
  PLACE_KEEPS,
  PLACE_TWICE,
  IDLE_CLAIMS,
  ASKS_NOWHERE
};

static uint16_t thread_ready(const struct roost_policy_context* context, uint16_t last_core,
                             uint64_t* words, struct roost_policy_cores* cores) {
  ++words[0];
  if (FAULT == READY_NOWHERE) return context->n_cores;
  if (FAULT == ASKS_NOWHERE && cores->queued(cores, 1000) + cores->word(cores, 1000)) return 0;
#if defined FAULT_CALLS_LIBC
  extern void* malloc(size_t);
  words[1] = malloc(10) != NULL;
#elif defined FAULT_CALLS_UNKNOWN
  extern int nobody_has_this(void);
  words[1] = nobody_has_this();
#elif defined FAULT_THREAD_LOCAL
  static _Thread_local uint64_t calls;
  words[1] = ++calls;
#endif
  return last_core;
}

static uint16_t core_free(const struct roost_policy_context* context, uint16_t core, uint16_t from,
                          uint64_t* words, const struct roost_policy_queues* queues) {
  (void)context, (void)core, (void)from;
  uint16_t next = queues->next_after(queues, (uint16_t)words[0]);
  if (FAULT == FREE_NOBODY) return ROOST_NO_PROCESS;
  if (FAULT == FREE_WRONG) return (uint16_t)(next + 1);
  return queues->has(queues, next) && queues->length(queues, next) ? next : ROOST_NO_PROCESS;
}

static void thread_granted(const struct roost_policy_context* context, uint16_t core,
                           uint16_t process, uint64_t* words) {
  (void)context, (void)core;
  words[0] = process;
}

static uint16_t place(const struct roost_policy_context* context, uint16_t last_core,
                      uint64_t* words, struct roost_policy_cores* cores) {
  (void)words;
  if (FAULT == PLACE_UNCLAIMED) return last_core;
  uint16_t idle = cores->next_idle(cores, 0, context->n_cores);
  if (idle == ROOST_NO_CORE || !cores->claim(cores, idle)) return ROOST_NO_CORE;
  if (FAULT == PLACE_TWICE) cores->claim(cores, idle);
  return FAULT == PLACE_KEEPS ? ROOST_NO_CORE : idle;
}

static void thread_moves(const struct roost_policy_context* context, uint16_t core,
                         uint16_t last_core, uint64_t* words) {
  (void)context, (void)core;
  words[2] = last_core;
}

static void core_idle(const struct roost_policy_context* context, uint16_t core, bool ended,
                      struct roost_policy_cores* cores) {
  uint64_t word = cores->word(cores, core);
  cores->change_word(cores, core, word, context->now + ended);
  if (FAULT == IDLE_CLAIMS) cores->claim(cores, (uint16_t)(core ? 0 : context->n_cores - 1));
}

static const struct roost_policy_parameter parameters[] = {
    {"number", FAULT == UNIT_MISSING ? "" : "1", "A number.", FAULT == BAD_PARAMETER ? 0 : 5, 1, 9},
    {FAULT == SAME_PARAMETER ? "number" : "other", "ns", "Another.", 5, 5, 5},
};

#if defined FAULT_A_FUNCTION
__attribute__((visibility("default"))) void a_function(void) __asm__("roost_policy");
void a_function(void) {}
#elif defined FAULT_SHORT_TABLE
__attribute__((visibility("default"))) extern const uint32_t short_table[2] __asm__("roost_policy");
const uint32_t short_table[2] = {ROOST_POLICY_VERSION, sizeof(struct roost_policy)};
#elif defined FAULT_EXPORTS_MORE
__attribute__((visibility("default"))) int helper = 1;
#endif

#if defined FAULT_NO_SYMBOL || defined FAULT_A_FUNCTION || defined FAULT_SHORT_TABLE
__attribute__((unused)) static const struct roost_policy hidden = {
#else
const struct roost_policy roost_policy = {
#endif
    .version = ROOST_POLICY_VERSION + (FAULT == WRONG_VERSION),
    .size = sizeof(struct roost_policy) + (FAULT == WRONG_SIZE ? 8 : 0),
    .name = FAULT == NO_NAME      ? NULL
            : FAULT == BAD_NAME   ? "a policy"
            : FAULT == TAKEN_NAME ? "coop"
                                  : "tested",
    .summary = FAULT == NO_SUMMARY ? "" : "For tests.",
    .layout = FAULT != NO_LAYOUT,
    .parameters = FAULT == NO_PARAMETERS ? NULL : parameters,
    .n_parameters = FAULT == MANY_PARAMETERS ? ROOST_POLICY_MAX_PARAMETERS + 1 : 2,
    .thread_ready = FAULT == NO_THREAD_READY ? NULL : thread_ready,
    .core_free = FAULT == NO_CORE_FREE ? NULL : core_free,
    .thread_granted = thread_granted,
    .place = place,
    .thread_moves = thread_moves,
    .core_idle = core_idle,
};

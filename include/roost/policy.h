/* A scheduling policy of your own, built as a shared object and loaded by name or path:
 *
 *   cc -std=c11 -O2 -shared -fPIC $(pkg-config --cflags roost) -o my.so my.c
 *   roost sim first-steps --policy ./my.so        try it on a machine you do not have
 *   roost run --policy ./my.so ./program          and then on yours
 *
 * docs/user/writing-a-policy.md walks through a complete one, examples/policies/shortest_queue.c.
 *
 * A policy decides, Roost acts. It exports one object, `const struct roost_policy roost_policy`: a
 * name, parameters that users can set, and callbacks. They run inside the scheduler of whatever
 * process is passing a scheduling point, in several threads at once, at times under the lock of a
 * core's queue. So they may not block, allocate, read a clock, or call anything but memcpy,
 * memmove, memset and memcmp; an object that imports more is refused. They keep no state but the
 * words they are handed, which lie in memory that all processes of the instance share and are zero
 * to begin with: no pointers, since every process has that memory elsewhere.
 *
 * The same object runs in the simulator, on a clock of its own: equal arguments must give equal
 * answers. A policy that needs chance makes it from `now` and its words.
 *
 * An answer that cannot be followed (a core that does not exist, a process without a READY thread,
 * a core it has not claimed) is not followed: the default named at the callback is, and Roost says
 * so once. `roost sim` ends with it.
 *
 * Terms: cores are counted 0 .. n_cores-1 in the instance, processes by the places that they have
 * in it. A READY thread can run and has no core; it waits in the queue of one core, first come,
 * first served among the threads of its process. Times are nanoseconds on CLOCK_MONOTONIC.
 */
#ifndef ROOST_POLICY_H
#define ROOST_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with anything in this header that a built policy relies on. */
#define ROOST_POLICY_VERSION 1

#define ROOST_POLICY_THREAD_WORDS 4
#define ROOST_POLICY_CORE_WORDS 5
#define ROOST_POLICY_MAX_PARAMETERS 14
#define ROOST_POLICY_MAX_NAME 31

#define ROOST_NO_CORE ((uint16_t)0xffff)
#define ROOST_NO_PROCESS ((uint16_t)0xffff)

/* A number that users can set: `roost run --set name=value`. */
struct roost_policy_parameter {
  const char* name;    /* lower-case letters, digits and '_'; 1 to ROOST_POLICY_MAX_NAME of them */
  const char* unit;    /* "ns" is shown and read as a time; "cores", "times", "1" ... */
  const char* summary; /* one sentence */
  uint64_t standard;   /* if nobody sets it; from `minimum` to `maximum` */
  uint64_t minimum;
  uint64_t maximum;
};

/* What is known of a core; fixed while the instance lives. */
struct roost_policy_core {
  uint16_t cpu; /* the kernel's number */
  uint16_t node;
  uint16_t socket;
  uint16_t llc;        /* last-level cache */
  uint16_t node_first; /* the cores of its NUMA node are node_first .. node_end-1 */
  uint16_t node_end;
  int16_t
      to_sibling; /* from here to the other hardware thread of its physical core; 0: none known */
};

/* What every callback may look at. */
struct roost_policy_context {
  uint64_t now;
  const uint64_t* parameters; /* in the order of the policy's table */
  const struct roost_policy_core* cores;
  uint16_t n_cores;
};

/* The READY threads in the queue of one core. Nobody changes it meanwhile. */
struct roost_policy_queues {
  bool (*has)(const struct roost_policy_queues*, uint16_t process);
  /* How many threads of `process` wait there; 1 for the process whose turn it is if only other
   * cores have threads of it, which then come here. */
  uint32_t (*length)(const struct roost_policy_queues*, uint16_t process);
  /* The first process after `process`, cyclically, that has threads there; `process` itself comes
   * last. ROOST_NO_PROCESS as an argument: the first of all. */
  uint16_t (*next_after)(const struct roost_policy_queues*, uint16_t process);
};

/* The cores. Others may change them at any time: all answers are hints, only a claim is sure. */
struct roost_policy_cores {
  /* Takes `core` if it is idle: nobody else gives it away from then on. For place() alone, once a
   * call; whoever succeeds must return that core. */
  bool (*claim)(struct roost_policy_cores*, uint16_t core);
  /* The first idle core of first .. end-1, else ROOST_NO_CORE. */
  uint16_t (*next_idle)(struct roost_policy_cores*, uint16_t first, uint16_t end);
  /* How many READY threads wait in the queue of `core`. */
  uint32_t (*queued)(struct roost_policy_cores*, uint16_t core);
  /* A word of the policy's for each core, which all see and change by comparison: false if its
   * value is not `from` any more. */
  uint64_t (*word)(struct roost_policy_cores*, uint16_t core);
  bool (*change_word)(struct roost_policy_cores*, uint16_t core, uint64_t from, uint64_t to);
};

/* `thread_words` are the ROOST_POLICY_THREAD_WORDS words of the thread in question, which nobody
 * else touches meanwhile; `core_words` the ROOST_POLICY_CORE_WORDS of `core`, which belong to
 * whoever decides for it. */
struct roost_policy {
  uint32_t version; /* ROOST_POLICY_VERSION */
  uint32_t size;    /* sizeof(struct roost_policy) */
  const char* name; /* as a parameter's; not that of a policy of Roost's */
  const char* summary;
  /* Not 0. Another number whenever the words get another meaning. */
  uint64_t layout;
  /* Two are added to every policy that has none of that name: `idle_spin` (how long the last thread
   * of an idle core spins) and `patience` (how long a thread may run past its last scheduling point
   * while others wait). Roost acts on them itself. If there is a `quantum`, `roost run --quantum`
   * sets it. */
  const struct roost_policy_parameter* parameters;
  uint32_t n_parameters;
  /* 1: a core that spins before it sleeps stops as soon as its other hardware thread gets a thread.
   */
  uint32_t spin_ends_with_sibling;

  /* A thread became READY: the core near which it should run, and for which it waits if no core is
   * free. Any core counts; the default is `last_core`. */
  uint16_t (*thread_ready)(const struct roost_policy_context*, uint16_t last_core,
                           uint64_t* thread_words, struct roost_policy_cores*);

  /* `core` is free and looks for work in the queue of `from` (its own first, then those of its NUMA
   * node, then all): the process whose oldest thread there it takes. There is always one; the
   * default is any. */
  uint16_t (*core_free)(const struct roost_policy_context*, uint16_t core, uint16_t from,
                        uint64_t* core_words, const struct roost_policy_queues*);

  /* The rest may be null. */

  /* A thread of `process` got `core`. */
  void (*thread_granted)(const struct roost_policy_context*, uint16_t core, uint16_t process,
                         uint64_t* core_words);

  /* A thread became READY: an idle core that the policy has claimed for it, or ROOST_NO_CORE; Roost
   * then looks for an idle core itself, nearest to what thread_ready says, which is the default. */
  uint16_t (*place)(const struct roost_policy_context*, uint16_t last_core, uint64_t* thread_words,
                    struct roost_policy_cores*);

  /* A thread gets `core`, and ran on `last_core` before. */
  void (*thread_moves)(const struct roost_policy_context*, uint16_t core, uint16_t last_core,
                       uint64_t* thread_words);

  /* `core` is about to become idle: the thread that leaves it waits or, if `ended`, is no more. */
  void (*core_idle)(const struct roost_policy_context*, uint16_t core, bool ended,
                    struct roost_policy_cores*);
};

/* What a policy exports. */
__attribute__((visibility("default"))) extern const struct roost_policy roost_policy;

#ifdef __cplusplus
}
#endif

#endif

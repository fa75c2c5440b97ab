/* Roost for runtimes that integrate by hand: block, wake and yield threads through the scheduler.
 *
 * Programs need none of this to be scheduled by Roost: `roost run` schedules what they do through
 * libc. A runtime that waits in ways of its own (spinning barriers, its own futexes, user-level
 * queues) calls these functions instead of guessing, and so gets what USF's evaluation calls the
 * manual integration ("Making USF", sections 2.3 and 5.3): the block, submit and yield of a task.
 *
 * Link with -lroost (pkg-config roost). A program that `roost run` started is active from its first
 * instruction. Any other becomes active when it calls roost_start(), and is an ordinary program
 * until then. A library that must also run where there is no Roost defines ROOST_OPTIONAL before
 * it includes this header, and does not link: the functions are then null unless the program was
 * started by `roost run` or brings libroost.so itself.
 *
 * Terms. Each core of an instance is owned by at most one thread, until that thread blocks, yields
 * or ends; nobody is preempted. A thread that Roost schedules is attached: all that pthread_create
 * starts while Roost is active, and those that call roost_attach(). Only attached threads block,
 * yield and own cores. The last resort: if threads wait, the watchdog takes the core of a thread
 * that sleeps in a call nobody told Roost of, or runs on for long; the next wait or yield of that
 * thread gets it one again.
 *
 * Results. Functions that return int return a negative errno value if they fail, and leave errno
 * alone always. Three errors mean the same everywhere:
 *   -ENOTCONN  Roost is not active in this process
 *   -ESRCH     the calling thread, or the thread a handle names, is not attached (any more)
 *   -EBUSY     not here: in a signal handler that interrupted a Roost or pthread call, or between
 *              roost_enter_blocking() and roost_leave_blocking()
 *
 * Times are nanoseconds on CLOCK_MONOTONIC. Signal handlers may call roost_unblock() and what is
 * said below to be a plain question; other calls return -EBUSY where they would do harm. None of
 * these functions is a cancellation point. After fork() the child is attached anew, with a handle
 * of its own; a child of vfork() may call nothing here.
 */
#ifndef ROOST_ROOST_H
#define ROOST_ROOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef ROOST_OPTIONAL
#define ROOST_API __attribute__((visibility("default"), weak))
#else
#define ROOST_API __attribute__((visibility("default")))
#endif

/* ---- Version and start ---------------------------------------------------------------------- */

/* Grows by one with each addition to this header. */
#define ROOST_API_VERSION 4

/* The version of the library the program runs with. A plain question, from anywhere. */
ROOST_API int roost_api_version(void);

/* What to start with. Zero and null mean the default; initialise with `= {0}`. The first process of
 * an instance decides about all but the name, later ones join it as it is. */
struct roost_config {
  /* 1 to 63 letters, digits, '.', '_', '-'. Default: the variable ROOST_INSTANCE, "default". */
  const char* instance;
  /* A name that `roost policies` lists, or the path of a plug-in (roost/policy.h), with a '/'.
   * Default: ROOST_POLICY, "coop". */
  const char* policy;
  /* How long a core serves one process in a row, in ns. Default: the policy's. */
  uint64_t quantum_ns;
  /* How many of the CPUs in the caller's affinity mask, all if there are fewer. Default: as many as
   * its CPU quota allows. */
  uint32_t cores;
  uint32_t reserved[9]; /* zero */
};

/* Attaches the process to an instance, creating it if there is none, and the calling thread with
 * it. `config` may be null. Returns 0 also if Roost is active already, and leaves everything as it
 * is: what the user said to `roost run` counts.
 *
 * Best called by main() before it starts threads. Threads that exist already stay as they are until
 * they call roost_attach(), and the process must then end by exit(), not with its last thread.
 * Programs that this process executes are not in the instance unless started by `roost run`. Waits
 * until a core is free. Not in signal handlers.
 *
 * -EINVAL    a name, policy (standard error says why) or reserved field that is not valid
 * -EALREADY  another thread is inside roost_start()
 * -EAGAIN    the instance has no free thread record; -EUSERS: no free process slot
 * -EACCES    the instance's segment is another user's, or others may write to it
 * -EPROTO    it was made by another version of Roost, or is damaged
 * -EXDEV     it belongs to another container
 * -ENOTSUP   it runs a policy that this version does not have, or another build of a plug-in
 * or what open(2), ftruncate(2) or mmap(2) of the segment say */
ROOST_API int roost_start(const struct roost_config* config);

/* 1 if Roost is active in this process, else 0. A plain question, from anywhere. */
ROOST_API int roost_active(void);

/* ---- Threads --------------------------------------------------------------------------------- */

/* Names an attached thread, in all processes of the instance, while it is attached. Handles of
 * ended threads stay invalid for the next 2047 threads in the same place of the instance's table.
 */
typedef uint32_t roost_thread;
#define ROOST_NO_THREAD ((roost_thread)0)

/* The calling thread's handle; ROOST_NO_THREAD if it is not attached. A plain question. */
ROOST_API roost_thread roost_self(void);

/* Attaches the calling thread and waits until it owns a core. For threads that Roost did not see
 * start: older than roost_start(), made by clone(2) (with thread-local storage of their own) or
 * inside libc, or detached with roost_detach(). A thread of clone(2) must call roost_detach()
 * before it ends.
 *
 * -EALREADY  it is attached: whoever did that detaches it
 * -EAGAIN    the instance has no free thread record; the thread runs on unattached */
ROOST_API int roost_attach(void);

/* Gives back the calling thread's core and handle. It runs on, scheduled by the kernel alone,
 * beside the attached threads; libc's waits still work between both. For threads that run seldom
 * and must never wait for a core. */
ROOST_API int roost_detach(void);

/* ---- Waiting and waking ---------------------------------------------------------------------- */

/* Waits for a permit and takes it: returns 0 once somebody has called roost_unblock() for this
 * thread since its last block, at once if that was before this call. The core goes to the next
 * ready thread meanwhile. What the waker wrote before roost_unblock() is visible afterwards. Other
 * waits of the thread (a mutex, say) neither take nor make permits. Costs what a hand-off costs,
 * about one futex wake and wait on the same core. Never returns 0 without a permit, nor for a
 * signal. */
ROOST_API int roost_block(void);

/* As roost_block(), until `deadline_ns` at most: 0, or -ETIMEDOUT without a permit. A deadline that
 * has passed asks for a permit, and lets other ready threads run if there is none. */
#define ROOST_FOREVER UINT64_MAX
ROOST_API int roost_block_until(uint64_t deadline_ns);

/* Leaves `thread` a permit, and makes it ready if it blocks. Permits do not add up: one is there or
 * none is. The caller keeps its core. From any thread, attached or not, from signal handlers, and
 * from any process of the instance. -ENOTCONN, -ESRCH. */
ROOST_API int roost_unblock(roost_thread thread);

/* Lets a ready thread have this core, behind which the caller queues: 1 if one ran, 0 if none was
 * waiting. A spinning wait calls this every few rounds, and never keeps from the core what it waits
 * for (USF section 4.4). */
ROOST_API int roost_yield(void);

/* Where giving up the core costs the caller least, as between two pieces of work: roost_yield(), if
 * others wait and the caller has had its core for some milliseconds, or if it has none (any more);
 * else returns 0 at once, after a load or two. Since version 4. */
ROOST_API int roost_pass_point(void);

/* Around a call that may block in the kernel: the core goes to the next ready thread, and
 * roost_leave_blocking() waits for one again. Both leave errno alone. Pairs do not nest. Between
 * the two the thread may run whatever it likes, but briefly: it shares a core that belongs to
 * another. -EINVAL    roost_leave_blocking() without roost_enter_blocking() */
ROOST_API int roost_enter_blocking(void);
ROOST_API int roost_leave_blocking(void);

/* ---- Light threads (since version 2) ----------------------------------------------------------
 */

/* For runtimes that run several light threads on one thread. A light thread that waits in code that
 * knows nothing of light threads keeps its siblings from the core. Roost sees most such waits
 * (calls of libc, and loops that only look at memory: docs, --spin) and, if the calling thread's
 * flag (roost_light_state) is set, tells the runtime, which lets siblings run meanwhile.
 *
 * `event` is called on the stack of the light thread, with any registers of the program's saved,
 * possibly in a signal handler that interrupted the program's own code; it returns when the light
 * thread is to go on. Waits in the code from `text` to `text_end`, the runtime's own, are left
 * alone. One runtime a process: -EBUSY for a second one. */
ROOST_API int roost_light_threads(int (*event)(int what), const void* text, const void* text_end);

/* What `event` is told of the running light thread, and what it returns. */
/* It waits in a loop, or yields. 1 if a sibling ran, 0 if there is none. */
#define ROOST_LIGHT_SPINS 0
/* It waits in a call of libc's. 1 after a sibling ran: it is time to look whether the wait is over.
 * 0 if there is none to run: the thread sleeps, and is told so again when it has been woken, by
 * whomever. Until then the runtime calls roost_unblock() for it as soon as a sibling can go on. */
#define ROOST_LIGHT_BLOCKS 1
/* It has looked, after a 1, and waits still. As above; 0 also if all who could run wait so and have
 * looked since one of them went on. */
#define ROOST_LIGHT_LOOKED 2
/* Its wait is over. The result means nothing. */
#define ROOST_LIGHT_GOES_ON 3
/* It can go on, but the thread may then block. 1 if a sibling ran, 0 if there is none. */
#define ROOST_LIGHT_YIELDS 4
/* Not a light thread: an attached thread whose flag is 0 waits in a loop that Roost has rewritten
 * or proved to wait, now and then while it does. It gives its core to whoever is made ready
 * meanwhile. The result means nothing. */
#define ROOST_LIGHT_THREAD_SPINS 5

/* What the runtime says of the light thread that the calling thread runs, at each switch. */
struct roost_light {
  /* 1 if it may have siblings on this thread, 2 if it has some that have begun, else 0. */
  unsigned char flag;
  unsigned char reserved[7]; /* zero */
  /* Which one it is: a value of its own among those of the thread; null while the thread runs on
   * its own stack. A recursive mutex is held by a light thread, not by its siblings as well. */
  const void* self;
};
/* The calling thread's, all zero at first. Valid until the thread ends. */
ROOST_API struct roost_light* roost_light_state(void);
/* Has an attached thread of this process that owns a core looked at, whether it only waits by
 * spinning: for runtimes whose light threads do not get to run, or could run on its core. A signal,
 * if the program has left it to Roost. -ESRCH; -ENOTSUP if threads cannot be asked. */
ROOST_API int roost_suspect(roost_thread thread);
/* The same, also for one that computes without a core, because it had to share its own: seldom, as
 * a call that it begins at that moment may be interrupted. */
ROOST_API int roost_suspect_sharing(roost_thread thread);

/* ---- Questions (plain ones, from anywhere) --------------------------------------------------- */

/* The core the calling thread owns, from 0 to roost_core_count() - 1; -1 if it owns none: not
 * attached, after roost_enter_blocking(), or since the watchdog took it. Otherwise it changes only
 * where the thread waits, yields or enters the kernel. */
ROOST_API int roost_core(void);

/* Whether an attached thread of this process could run and only waits for a core: 1 or 0; -ESRCH.
 * The answer may be old at once. Since version 3. */
ROOST_API int roost_ready(roost_thread thread);

/* Cores of the instance, all processes together; 0 if Roost is not active. */
ROOST_API uint32_t roost_core_count(void);

/* Where a core is in the machine. Nodes, sockets and caches are counted from 0 within the instance.
 */
struct roost_core_info {
  uint32_t os_cpu; /* the kernel's number */
  uint32_t node;   /* NUMA node */
  uint32_t socket;
  uint32_t cache; /* last-level cache */
};
/* -ENOTCONN, or -EINVAL if there is no such core. */
ROOST_API int roost_core_info(uint32_t core, struct roost_core_info* info);

/* 1 if threads of the instance are ready and wait for a core, so that spinning costs somebody: time
 * for roost_yield() or roost_block(). Else 0. Costs one load for each 64 cores, and one for each
 * core at which threads waited lately. */
ROOST_API int roost_others_wait(void);

/* The instance at about this moment. Costs a cache line for each core. */
struct roost_state {
  uint32_t cores;
  uint32_t idle_cores;    /* owned by no thread */
  uint32_t ready_threads; /* waiting for a core, all processes together */
  uint32_t others_cores;  /* owned by threads of other processes */
  uint32_t reserved[4];
};
/* -ENOTCONN. */
ROOST_API int roost_state(struct roost_state* state);

/* Names that stay valid; null if Roost is not active. */
ROOST_API const char* roost_instance_name(void);
ROOST_API const char* roost_policy_name(void);

#ifdef __cplusplus
}
#endif

#endif

"""Inline system calls under roost: seen where they are trapped, left to the watchdog where not."""

import platform
import re

from harness.roost import rescues

from world import Skip, World, cores_here, require, require_success, text

OUTPUT = b"800 turns\n"


def run_turns(world: World, *options: str) -> tuple[int, int]:
    """Threads that wait by inline calls, on one core: how many were rescued, and calls trapped."""
    if platform.machine() != "x86_64":
        raise Skip("the kernel dispatches system calls on x86-64 only")
    instance = world.roost.new_instance("trap")
    outcome = world.run(world.program("inline_turns", 4, 200), instance, "--stats", "--cores", "1",
                        *options)
    require_success(outcome, "inline_turns")
    require(outcome.stdout == OUTPUT, f"it printed {outcome.stdout!r}, not {OUTPUT!r}")
    world.require_gone(instance)
    trapped = re.search(rb"traps (\d+)", outcome.stderr)
    require(trapped, f"--stats printed no traps: {text(outcome.stderr)}")
    return sum(rescues(outcome.stderr)), int(trapped.group(1))


def require_seen(world: World, *options: str) -> str:
    rescued, trapped = run_turns(world, *options)
    if not kernel_dispatches(world):
        raise Skip("this kernel does not dispatch system calls")
    require(trapped > 0, "no call was trapped")
    require(rescued == 0, f"{rescued} rescues, with {trapped} calls trapped")
    return f"{trapped} traps"


def kernel_dispatches(world: World) -> bool:
    doctor = world.run_plain([str(world.roost.binary), "doctor"])
    return any(line.startswith(b"ok") for line in doctor.stdout.splitlines()
               if b"syscall trap" in line)


def test_inline_waits_need_no_rescue(world: World):
    return require_seen(world)


def test_inline_waits_need_no_rescue_with_the_trap_asked_for(world: World):
    return require_seen(world, "--trap", "on")


def test_without_the_trap_the_watchdog_helps(world: World):
    rescued, trapped = run_turns(world, "--trap", "off")
    require(trapped == 0, f"{trapped} calls were trapped")
    require(rescued > 0, "there was no rescue, so the other tests show nothing")
    return f"{rescued} rescues"


def test_a_program_without_inline_calls_traps_nothing(world: World):
    instance = world.roost.new_instance("trap")
    outcome = world.run(world.program("sync_mix", 4, 40), instance, "--stats")
    require_success(outcome, "sync_mix")
    require(b"traps 0" in outcome.stderr, text(outcome.stderr))


def test_inline_calls_are_whole(world: World):
    """The watchdog's signal does not end them with a part of their result."""
    if not kernel_dispatches(world):
        raise Skip("this kernel does not dispatch system calls")
    instance = world.roost.new_instance("trap")
    outcome = world.run(world.program("whole_calls", "@inline", folder="posix"), instance,
                        "--cores", "1", "--trap", "on")
    require_success(outcome, "whole_calls")
    world.require_gone(instance)


# Has its own code around every thread, as AddressSanitizer has, in which the thread waits.
BEGINS_THREADS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>

static int gate;
static long futex(int operation, int value) {
  long result;
  register long timeout __asm__("r10") = 0;
  __asm__ volatile("syscall" : "=a"(result)
                   : "a"(SYS_futex), "D"(&gate), "S"(operation), "d"(value), "r"(timeout)
                   : "rcx", "r11", "memory");
  return result;
}
struct Start {
  void* (*start)(void*);
  void* argument;
};
static void* begin(void* data) {
  struct Start own = *(struct Start*)data;
  free(data);
  while (__atomic_load_n(&gate, __ATOMIC_ACQUIRE) == 0) futex(FUTEX_WAIT_PRIVATE, 0);
  return own.start(own.argument);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  struct Start* own = malloc(sizeof *own);
  *own = (struct Start){start, argument};
  return next(thread, attributes, begin, own);
}
void open_gate(void) {
  __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
  futex(FUTEX_WAKE_PRIVATE, INT_MAX);
}
"""
WAITS_AT_THE_GATE = """
#include <pthread.h>
#include <unistd.h>
void open_gate(void);
static void* nothing(void* unused) { return unused; }
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, nothing, NULL);
  usleep(100000);
  open_gate();
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 5;
}
"""


def test_threads_that_another_library_begins_are_woken(world: World):
    """They wait before Roost knows them, so in the kernel alone."""
    if platform.machine() != "x86_64":
        raise Skip("the library is for x86-64")
    library = world.compile("libbegins.so", BEGINS_THREADS, "-shared", "-fPIC")
    program = world.compile("gate", WAITS_AT_THE_GATE, library)
    instance = world.roost.new_instance("trap")
    outcome = world.run([program], instance)
    require(outcome.status == 5, f"{outcome.verdict()}\n{text(outcome.stderr)}")
    world.require_gone(instance)


# As Go's runtime: asks how many CPUs there are before it has threads, and executes another program
# from a child that shares its memory; all inline. Go's note is how Roost knows it.
LIKE_GO = r"""
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

__asm__(".pushsection .note.go.buildid,\"a\",@note\n"
        ".long 4, 4, 4\n"
        ".asciz \"Go\"\n .byte 0\n .long 0\n"
        ".popsection");

static long inline_call(long number, long a, long b, long c) {
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return number;
}
static int cpus(void) {
  unsigned char mask[8192];
  long bytes = inline_call(SYS_sched_getaffinity, 0, sizeof mask, (long)mask);
  int count = 0;
  for (long i = 0; i < bytes; ++i) count += __builtin_popcount(mask[i]);
  return count;
}
static void* work(void* counts) {
  char* const argv[] = {(char*)counts, NULL};
  char* const envp[] = {NULL};
  long child = SYS_clone;
  register long zero __asm__("r10") = 0;
  __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n"
                   "mov %[exec], %%eax\n mov %[path], %%rdi\n mov %[argv], %%rsi\n"
                   "mov %[envp], %%rdx\n syscall\n mov %[exit], %%eax\n syscall\n 1:"
                   : "+a"(child)
                   : "D"(CLONE_VM | CLONE_VFORK | SIGCHLD), "S"(0L), "d"(0L), "r"(zero),
                     [path] "r"(argv[0]), [argv] "r"(argv), [envp] "r"(envp), [exec] "i"(SYS_execve),
                     [exit] "i"(SYS_exit)
                   : "rcx", "r11", "memory");
  int status;
  waitpid((pid_t)child, &status, 0);
  return NULL;
}
int main(int argc, char** argv) {
  printf("%d\n", cpus());
  fflush(stdout);
  pthread_t thread;
  pthread_create(&thread, NULL, work, argv[1]);
  return pthread_join(thread, NULL);
}
"""
COUNTS_CPUS = """
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
int main(void) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  printf("%d\\n", CPU_COUNT(&mask));
  return 0;
}
"""


def test_a_go_program_finds_all_cpus_and_so_do_those_it_executes(world: World):
    if not kernel_dispatches(world):
        raise Skip("this kernel does not dispatch system calls")
    counts = world.compile("counts", COUNTS_CPUS, "-static")
    program = world.compile("like_go", LIKE_GO, "-pthread")
    instance = world.roost.new_instance("go")
    outcome = world.run([program, counts], instance)
    require_success(outcome, "like_go")
    wanted = f"{cores_here()}\n".encode() * 2
    require(outcome.stdout == wanted, f"it printed {outcome.stdout!r}, not {wanted!r}")
    world.require_gone(instance)


# The end of Go's Syscall6, called on a stack as small as a goroutine's.
SMALL_STACK_CALLS = r"""
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__asm__(".pushsection .note.go.buildid,\"a\",@note\n"
        ".long 4, 4, 4\n"
        ".asciz \"Go\"\n .byte 0\n .long 0\n"
        ".popsection\n"
        ".text\n"
        "syscall6:\n"
        " mov %rsi, %r10\n mov %rdi, %rdx\n mov %rcx, %rsi\n mov %rbx, %rdi\n syscall\n"
        " cmp $0xfffffffffffff001, %rax\n ret\n"
        ".globl on_small_stack\n"
        "on_small_stack:\n"  // (number, a, b, c, stack)
        " push %rbx\n push %rbp\n mov %rsp, %rbp\n mov %r8, %rsp\n"
        " mov %rdi, %rax\n mov %rsi, %rbx\n mov %rcx, %rdi\n mov %rdx, %rcx\n"
        " call syscall6\n"
        " mov %rbp, %rsp\n pop %rbp\n pop %rbx\n ret\n");
long on_small_stack(long number, long a, long b, long c, char* stack);

int main(void) {
  static char around[4096], untouched[3840];
  memset(around, 'x', sizeof around);
  memset(untouched, 'x', sizeof untouched);
  int ends[2];
  if (pipe(ends)) return 1;
  for (int i = 0; i < 2000; ++i) {
    char byte = (char)i, got = 0;
    char* stack = around + sizeof around;
    if (on_small_stack(SYS_write, ends[1], (long)&byte, 1, stack) != 1) return 2;
    if (on_small_stack(SYS_read, ends[0], (long)&got, 1, stack) != 1 || got != byte) return 3;
    if (on_small_stack(SYS_close, 999, 0, 0, stack) != -9) return 4;
  }
  return memcmp(around, untouched, sizeof untouched) ? 5 : 0;
}
"""


def test_calls_of_go_need_no_trap(world: World):
    if not kernel_dispatches(world):
        raise Skip("this kernel does not dispatch system calls")
    program = world.compile("small_stack", SMALL_STACK_CALLS)
    instance = world.roost.new_instance("go")
    outcome = world.run([program], instance, "--stats")
    require_success(outcome, "small_stack")
    trapped = int(re.search(rb"traps (\d+)", outcome.stderr).group(1))
    require(trapped < 100, f"{trapped} of 6000 calls were trapped")
    world.require_gone(instance)

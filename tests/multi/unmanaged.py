"""Processes that cannot join their instance run as without roost, cancellation included."""

import platform

from bad_input import require_one_sentence
from world import Skip, World, cases, require, require_success

# Of tests/posix, some with the cases to run.
PROGRAMS = (
    "cancel_cleanup", "cancel_elsewhere", "kernel_waits_cancelled", "cond", "semaphore",
    "cancel_points", "jumps_from_objects",
)


@cases(*PROGRAMS)
def test_where_there_can_be_no_segment(world: World, program: str):
    instance = world.roost.new_instance("unmanaged")
    command = world.roost.command(world.program(*program.split(), folder="posix"), instance)
    outcome = world.run_plain(["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", *command])
    require_success(outcome, program)
    require(b"unmanaged" in outcome.stderr, f"it says {outcome.stderr!r}")
    world.require_gone(instance)


@cases(*PROGRAMS)
def test_where_the_only_record_is_taken(world: World, program: str):
    instance = world.roost.new_instance("unmanaged")
    # The shell has the record, and waits.
    command = ["sh", "-c", '"$@" || exit', "sh", *world.program(*program.split(), folder="posix")]
    outcome = world.run(command, instance, "--set", "max_threads=1")
    require_success(outcome, program)
    require(b"unmanaged" in outcome.stderr, f"it says {outcome.stderr!r}")
    world.require_gone(instance)


# Go does so without cgo, where it is to be independent of its position.
WITHOUT_LIBC = """
__asm__(".globl _start\\n _start: mov $60, %eax\\n mov $7, %edi\\n syscall");
"""


def test_what_does_without_libc(world: World):
    if platform.machine() != "x86_64":
        raise Skip("the program is for x86-64")
    program = world.compile("bare", WITHOUT_LIBC, "-nostdlib", "-pie",
                            "-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2")
    instance = world.roost.new_instance("bare")
    outcome = world.run([program], instance)
    require(outcome.status == 7, f"{outcome.verdict()}\n{outcome.stderr!r}")
    require_one_sentence(outcome, "does without libc")
    world.require_gone(instance)


# Waits and computes in children that nobody saw being made: with memory of their own, and in the
# parent's, each beside a thread that takes and gives a lock.
UNSEEN_CHILDREN = """
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define MAKE(result, number, flags) \\
  __asm__ volatile("syscall" : "=a"(result) : "a"((long)(number)), "D"((long)(flags)), "S"(0L), \\
                   "d"(0L) : "rcx", "r11", "r10", "r8", "memory")
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int ends;
static void* take_and_give(void* unused) {
  while (!ends) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    usleep(50);
  }
  return unused;
}
static void wait_here(void) {
  poll(NULL, 0, 1);
  sched_yield();
  usleep(200);
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, take_and_give, NULL);
  int well = 0, status;
  for (int i = 0; i < 60; ++i) {
    long pid;
    if (i % 3 == 0) MAKE(pid, SYS_fork, 0);
    if (i % 3 == 1) MAKE(pid, SYS_clone, SIGCHLD);
    if (i % 3 == 2) MAKE(pid, SYS_vfork, 0);
    if (pid == 0) {
      wait_here();
      _exit(7);
    }
    wait_here();
    waitpid((pid_t)pid, &status, 0);
    well += WIFEXITED(status) && WEXITSTATUS(status) == 7;
  }
  ends = 1;
  pthread_join(thread, NULL);
  printf("%d children\\n", well);
  return 0;
}
"""


@cases("auto", "off")
def test_children_that_nobody_saw_being_made(world: World, trap: str):
    if platform.machine() != "x86_64":
        raise Skip("the program is for x86-64")
    program = world.compile("unseen", UNSEEN_CHILDREN, "-O0", "-pthread")
    instance = world.roost.new_instance("unseen")
    outcome = world.run([program], instance, "--trap", trap)
    require_success(outcome, "the program")
    require(outcome.stdout == b"60 children\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
    return f"{outcome.seconds:.2f} s"

"""Processes that cannot join their instance run as without roost, cancellation included."""

import platform

from bad_input import require_one_sentence
from world import Skip, World, cases, require, require_success

# Of tests/posix, some with the cases to run.
PROGRAMS = (
    "cancel_cleanup", "cancel_elsewhere", "kernel_waits_cancelled", "cond", "semaphore",
    "cancel_points",
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

"""Threads that wait for a core in the kernel's run queue instead of asleep, where that pays."""

import re

from world import World, cases, require, require_success


def awake_grants(stderr: bytes) -> int:
    found = re.search(rb"awake (\d+)", stderr)
    require(found, f"--stats printed {stderr!r}")
    return int(found[1])


def run_turns(world: World, *options: str) -> int:
    """Of 8 threads that take turns at a barrier, all of whose waits are for each other."""
    instance = world.roost.new_instance("awake")
    command = world.program("barrier_turns", 8, 2000)
    outcome = world.run(command, instance, "--stats", *options)
    require_success(outcome, "barrier_turns")
    require(outcome.stdout == b"16000 arrivals\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
    return awake_grants(outcome.stderr)


@cases("1", "2")
def test_threads_that_take_turns_wait_awake(world: World, cores: str):
    """Most do on a quiet machine. They stop where others use the CPU, so some is all that is sure."""
    awake = run_turns(world, "--cores", cores)
    require(awake > 0, "nobody did")
    return f"{awake} of 14000 waits"


def test_threads_without_a_cpu_of_their_own_sleep(world: World):
    require(run_turns(world, "--cores", "1", "--pin", "none") == 0, "some waited awake")

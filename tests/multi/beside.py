"""Threads that do I/O run beside those that compute, and keep none of them from a core."""

import re

from harness.roost import rescues

from world import World, cases, require, require_success


def run_turns(world: World, *options: str) -> tuple[int, int]:
    """A byte to and fro between two processes beside four threads that yield: how often a thread
    went on beside the cores' owners, and how often cores were taken from sleepers."""
    instance = world.roost.new_instance("beside")
    outcome = world.run(world.program("pipe_turns", 300, 4), instance, "--stats", *options)
    require_success(outcome, "pipe_turns")
    require(outcome.stdout == b"300 turns\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
    beside = re.findall(rb"beside (\d+)", outcome.stderr)
    require(len(beside) == 2, f"--stats printed {outcome.stderr!r}")
    return sum(map(int, beside)), sum(rescues(outcome.stderr))


@cases("1", "2")
def test_threads_that_do_io_go_on_beside_those_that_compute(world: World, cores: str):
    beside, rescued = run_turns(world, "--cores", cores)
    require(beside > 0, "nobody did")
    require(rescued == 0, f"{rescued} rescues")
    return f"{beside} of 600 waits"


@cases("1", "2")
def test_unless_they_are_not_to(world: World, cores: str):
    beside, rescued = run_turns(world, "--cores", cores, "--set", "beside=0ns")
    require(beside == 0, f"{beside} did")
    require(rescued == 0, f"{rescued} rescues")

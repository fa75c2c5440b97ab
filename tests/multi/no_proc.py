"""Processes that cannot read /proc do not know who is alive: they take nobody of the instance for
dead."""

import os
import signal

from world import BOUND, Skip, World, cases, require, require_soon, require_success

REASONS = ("another root", "no mount", "no files")


def start(world: World, instance: str, reason: str):
    """A process that cannot read /proc, once it is there."""
    word = reason.split()[1]
    if word != "files" and os.geteuid() != 0:
        raise Skip("needs root")
    folder = world.directory / "root"
    folder.mkdir()
    process = world.start(world.program("no_proc", word, folder), instance)
    require_soon(lambda: process.wrote(b"there\n") or process.finished(), "the process starts")
    if process.finished() and process.wait(BOUND).status == 99:
        raise Skip("this is not permitted here")
    return process


def end(process) -> None:
    process.send(signal.SIGTERM)
    require_success(process.wait(BOUND), "a process of the instance")


@cases(*REASONS)
def test_others_go_on_beside_the_first_of_the_instance(world: World, reason: str):
    instance = world.roost.new_instance("blind")
    first = start(world, instance, reason)
    others = [world.start(world.program("sync_mix", 4, 200), instance) for _ in range(4)]
    for other in others:
        require_success(other.wait(BOUND), "sync_mix")
    pids = world.roost.pids(instance)
    require(pids == [first.pid], f"{first.pid} is there, but in ps: {pids}")
    end(first)
    if reason == "no mount":  # the others cannot open what is in /dev/shm
        world.require_gone(instance)


@cases(*REASONS)
def test_the_instance_stays_where_others_are_left(world: World, reason: str):
    instance = world.roost.new_instance("blind")
    idle = world.start_idle(instance)
    end(start(world, instance, reason))
    require(world.roost.segment(instance).exists(), "the segment went before the last process")
    require_success(world.run(world.program("sync_mix", 4, 20), instance), "sync_mix")
    end(idle)
    world.require_gone(instance)


def test_a_program_that_begins_without_proc_says_so_and_runs_unmanaged(world: World):
    if os.geteuid() != 0:
        raise Skip("needs root")
    instance = world.roost.new_instance("blind")
    program = world.program("sync_mix", 4, 200)
    script = "umount -l /proc || exit 99; exec " + " ".join(program)
    outcome = world.run(["unshare", "-m", "sh", "-c", script], instance)
    if outcome.status == 99 or b"unshare failed" in outcome.stderr:
        raise Skip("this is not permitted here")
    require_success(outcome, "sync_mix")
    require(b"/proc is not mounted" in outcome.stderr, f"it said {outcome.stderr!r}")

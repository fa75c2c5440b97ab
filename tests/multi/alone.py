"""Processes with one thread stay so while they wait for cores: fork servers with a sandbox, unshare(2)
and Python's fork ask for that."""

import os

from world import BOUND, World, require, require_soon, require_success

ALONE = b"1 threads, its child 1\n"


def run_beside_each_other(world: World, instance: str, *options: str) -> list[bytes]:
    """What four single-threaded programs on one core say of their threads."""
    command = world.program("alone", 300)
    running = [world.start(command, instance, "--cores", "1", *options) for _ in range(4)]
    said = []
    for process in running:
        outcome = process.wait(BOUND)
        require_success(outcome, "alone")
        said.append(outcome.stdout)
    return said


def test_where_all_have_one_thread(world: World):
    """Nor does anybody run beside the owner of the core, whom a keeper would have to watch."""
    instance = world.roost.new_instance("alone")
    said = run_beside_each_other(world, instance, "--set", "beside=0ms")
    require(all(text == ALONE for text in said), f"they said {said}")
    world.require_gone(instance)


def test_beside_a_program_with_threads(world: World):
    instance = world.roost.new_instance("alone")
    leader = world.start(world.program("sync_mix", 2, 1_000_000), instance, "--cores", "1")
    require_soon(lambda: len(os.listdir(f"/proc/{leader.pid}/task")) > 2, "its keeper runs")
    said = run_beside_each_other(world, instance)
    require(all(text == ALONE for text in said), f"they said {said}")
    leader.end()


def test_the_only_leader_dies_beside_one_that_computes(world: World):
    """It was the keeper of one that had waited for the computing one's core."""
    instance = world.roost.new_instance("alone")
    options = ("--cores", "1", "--set", "beside=0ms")
    hogs = []
    for _ in range(2):
        hogs.append(world.start(world.program("victim", 1, 0), instance, *options))
        require_soon(lambda: hogs[-1].wrote(b"spinning"), "it computes")
    threads = f"/proc/{hogs[1].pid}/task"
    require_soon(lambda: len(os.listdir(threads)) == 2, "who waited leads")
    hogs[1].end()
    outcome = world.run(world.program("alone", 20), instance, *options)
    require_success(outcome, "alone")
    hogs[0].end()


def test_one_that_gets_signals_all_the_time_has_its_turn(world: World):
    """Beside one that never stops computing, whom nobody else makes share the core."""
    instance = world.roost.new_instance("alone")
    options = ("--cores", "1", "--set", "beside=0ms")
    hog = world.start(world.program("victim", 1, 0), instance, *options)
    require_soon(lambda: hog.wrote(b"spinning"), "it computes")
    outcome = world.run(world.program("alone", 20, "ticks"), instance, *options)
    require_success(outcome, "alone")

"""Programs that do their worst: whatever they do with a core, the others of the instance go on.

Every test has a neighbour that synchronises a lot (sync_mix) on the adversary's only core; it has to
reach its end. How long that takes is bounded in src/sched/PROTOCOL.md and not asserted here.
"""

import os
import shutil
import signal

from world import World, cases, require, require_soon, require_success

ONE_CORE = ("--cores", "1")


def start_neighbours(world: World, instance: str, count: int = 2):
    return [world.start(world.program("sync_mix", 4, 20), instance) for _ in range(count)]


def require_neighbours_end(world: World, instance: str) -> None:
    for neighbour in start_neighbours(world, instance):
        require_success(neighbour.wait(60), "sync_mix beside an adversary")


def start_adversary(world: World, instance: str, how: str, threads: int, wrap=()):
    command = world.roost.command(world.program("adversary", how, threads), instance, *ONE_CORE)
    adversary = world.start_plain([*wrap, *command])
    require_soon(lambda: adversary.wrote(b"begun\n"), f"the adversary ({how}) begins")
    return adversary


@cases("spin", "blocked", "clone", "stdio")
def test_the_others_go_on_beside_threads_that(world: World, how: str):
    instance = world.roost.new_instance("adversary")
    adversary = start_adversary(world, instance, how, 4)
    require_neighbours_end(world, instance)
    require(not adversary.finished(), "the adversary ended by itself")


@cases("nice -n 19", "chrt --idle 0")
def test_the_others_go_on_beside_an_owner_of_low_priority(world: World, wrap: str):
    """The kernel hardly runs the core's owner: an unmanaged program has the CPU."""
    if not shutil.which(wrap.split()[0]):
        return f"not run: there is no {wrap.split()[0]}"
    cpu = str(min(os.sched_getaffinity(0)))
    world.start_plain(["taskset", "-c", cpu, *world.program("victim", 1, 0)])
    instance = world.roost.new_instance("adversary")
    start_adversary(world, instance, "spin", 2, wrap=wrap.split())
    require_neighbours_end(world, instance)


def test_programs_end_beside_unmanaged_load_on_each_core(world: World):
    for cpu in os.sched_getaffinity(0):
        world.start_plain(["taskset", "-c", str(cpu), *world.program("victim", 1, 0)])
    instance = world.roost.new_instance("adversary")
    require_neighbours_end(world, instance)
    world.require_gone(instance)


def test_the_others_go_on_while_one_is_stopped(world: World):
    instance = world.roost.new_instance("adversary")
    stopped = world.start(world.program("sync_mix", 4, 4000), instance, *ONE_CORE)
    for _ in range(5):
        require_soon(lambda: stopped.pid in world.roost.pids(instance), "it joins the instance")
        stopped.send(signal.SIGSTOP)
        require_neighbours_end(world, instance)
        stopped.send(signal.SIGCONT)
        if stopped.finished():
            break
    require_success(stopped.wait(60), "sync_mix, stopped now and then")
    world.require_gone(instance)


def test_the_others_go_on_while_one_is_debugged(world: World):
    if not shutil.which("gdb"):
        return "not run: there is no gdb"
    instance = world.roost.new_instance("adversary")
    debugged = world.start(world.program("sync_mix", 4, 4000), instance, *ONE_CORE)
    require_soon(lambda: debugged.pid in world.roost.pids(instance), "it joins the instance")
    debugger = world.start_plain(["gdb", "-batch", "-p", str(debugged.pid), "-ex", "shell echo attached",
                                  "-ex", "shell sleep 3", "-ex", "detach"])
    require_soon(lambda: debugger.wrote(b"attached"), "gdb attaches")
    neighbours = start_neighbours(world, instance)
    for neighbour in neighbours:
        require_success(neighbour.wait(60), "sync_mix beside a debugged program")
    debugger.wait(60)
    require_success(debugged.wait(60), "sync_mix, debugged for a while")
    world.require_gone(instance)

"""Processes that die by a signal: the others of the instance go on, and nothing of the dead stays.

Every victim is killed while it runs its own code or waits. Death inside roost's own critical
sections is not tested here.
"""

import signal
import time

from harness.process import wait_until

from world import BOUND, World, cases, cores_here, require, require_soon, require_success


def start_victim(world: World, instance: str, spinning: int, *options: str):
    victim = world.start(world.program("victim", spinning, 3), instance, *options)
    require_soon(lambda: victim.wrote(b"spinning\n"), "the victim gets a core")
    return victim


def kill(victim) -> None:
    victim.send(signal.SIGKILL)
    require_soon(victim.finished, "a killed process ends")


@cases(1, 2)
def test_cores_of_a_killed_process_come_back(world: World, cores: int):
    if cores > cores_here():
        return "not run: too few cores"
    instance = world.roost.new_instance("kill")
    # The victim has every core, never blocks and is not made to share, so these wait for it from
    # their very start.
    victim = start_victim(world, instance, cores, "--cores", str(cores), "--set", "patience=10s")
    # Beside other load they may be let in earlier, and a killed last process could not clean up.
    idle = world.start(world.program("idle"), instance)
    others = [world.start(world.program("sync_mix", 4, 20), instance) for _ in range(4)]

    def all_joined():
        pids = world.roost.pids(instance)
        return all(other.pid in pids or other.finished() for other in (idle, *others))
    require_soon(all_joined, "the others join the instance")
    early = sum(other.finished() for other in others)
    killed = time.monotonic()
    kill(victim)
    in_time = wait_until(lambda: all(other.finished() for other in others), BOUND)
    seconds = time.monotonic() - killed
    require(in_time, f"the others did not end within {BOUND} s of the kill")
    for other in others:
        require_success(other.wait(BOUND), "sync_mix")
    require_soon(lambda: idle.wrote(b"idle\n"), "the idle program gets a core")
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    world.require_gone(instance)
    return f"the 4 others ended {seconds * 1000:.0f} ms after the kill, {early} of them before it"


def test_others_survive_one_death_after_another(world: World):
    """The first to join watches the instance; it is the first to be killed."""
    instance = world.roost.new_instance("kills")
    victim = start_victim(world, instance, 1)
    idle = world.start_idle(instance)  # outlives all: a killed last process could not clean up
    workers = [world.start(world.program("sync_mix", 4, 20000), instance) for _ in range(4)]
    for _ in range(6):
        kill(victim)
        victim = start_victim(world, instance, 1)
    kill(victim)
    unfinished = sum(not worker.finished() for worker in workers)
    for worker in workers:
        outcome = worker.wait(60)
        require_success(outcome, "sync_mix")
        require(outcome.stdout == b"taken 399980000, written 20000\n", f"{outcome.stdout!r}")
    require_soon(lambda: world.roost.pids(instance) == [idle.pid], "roost ps forgets the dead")
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    world.require_gone(instance)
    return f"7 killed; {unfinished} of 4 workers were still at work after the last"


def test_processes_ended_by_a_signal_leave_the_instance(world: World):
    instance = world.roost.new_instance("terminate")
    idle = world.start_idle(instance)
    sleepers = [world.start(["sleep", "1000"], instance) for _ in range(12)]
    pids = {sleeper.pid for sleeper in sleepers}
    require_soon(lambda: pids <= set(world.roost.pids(instance)), "the sleepers join")
    for sleeper in sleepers:
        sleeper.send(signal.SIGTERM)
    for sleeper in sleepers:
        require(sleeper.wait(BOUND).status == -signal.SIGTERM, "sleep did not die by SIGTERM")
    require_soon(lambda: world.roost.pids(instance) == [idle.pid], "roost ps forgets the dead")
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    world.require_gone(instance)


def test_an_instance_of_the_dead_is_taken_over(world: World):
    instance = world.roost.new_instance("dead")
    kill(start_victim(world, instance, cores_here()))
    outcome = world.run(world.program("sync_mix", 4, 20), instance)
    require_success(outcome, "the next program of the instance")
    world.require_gone(instance)


def test_an_instance_of_the_dead_is_in_nobodys_way(world: World):
    """Nor is one of another version of Roost, nor does it stay when another one begins."""
    dead, other, new = (world.roost.new_instance(name) for name in ("dead", "other", "new"))
    for name in (dead, other):
        kill(start_victim(world, name, 1))
    with open(world.roost.segment(other), "r+b") as segment:
        segment.seek(8)  # abi_version lies behind the magic number
        segment.write(b"\xff\xff\xff\xff")
    idle = world.start_idle(new)
    world.require_gone(dead)
    require(world.roost.segment(other).exists(), "what cannot be read was removed unasked")
    outcome = world.start([*world.program("compute", 1, 1)], other).wait(BOUND)
    require_success(outcome, "compute in the instance of another version")
    world.require_gone(other)
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    world.require_gone(new)


def test_clean_removes_instances_of_the_dead_and_no_others(world: World):
    dead, live = world.roost.new_instance("dead"), world.roost.new_instance("live")
    idle = world.start_idle(live)
    kill(start_victim(world, dead, 1))
    require_success(world.run_plain([world.roost.binary, "clean"]), "roost clean")
    world.require_gone(dead)
    require(world.roost.segment(live).exists(), "roost clean removed an instance in use")
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
